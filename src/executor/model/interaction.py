"""An interaction: what a human must settle before a call continues."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

InteractionKind = Literal["approval", "unknown_outcome", "credential", "oauth"]
Scope = Literal["once", "execution", "always"]
InteractionStatus = Literal["pending", "approved", "denied", "expired", "cancelled", "superseded"]


@dataclass(frozen=True, slots=True)
class Binding:
    """Exactly what was shown. A decision applies to this and nothing else; any change needs a new decision."""

    actor_id: str
    execution_id: str
    call_seq: int
    path: str
    schema_digest: str
    arguments_digest: str
    source_digest: str
    policy_revision: int
    connection: str = ""  # its id and revision; empty when the call carries no credential


@dataclass(frozen=True, slots=True)
class Interaction:
    """`prompt` is rendered by the server from its own data: tool, effect, host, arguments, why it was asked."""

    id: str
    workspace_id: str
    execution_id: str
    call_seq: int
    kind: InteractionKind
    status: InteractionStatus
    binding: Binding
    prompt: dict[str, Any] = field(default_factory=dict)
    created_at: int = 0
    expires_at: int = 0
    settled_at: int | None = None
    settled_by: str = ""
    settled_from: str = ""
    scope: str = ""
    reason: str = ""
    result: str | None = None
    used: bool = False
