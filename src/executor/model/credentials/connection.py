"""A connection: a credential wired to a source, owned by the workspace or by one actor. It holds references only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

ConnectionStatus = Literal["ready", "incomplete", "rejected", "expired", "revoked"]
Scheme = Literal["api_key", "bearer", "basic", "headers", "environment", "oauth2"]
DEFAULT_NAME = "default"


@dataclass(frozen=True, slots=True)
class Connection:
    """`inputs` names the secret of each part of a credential (`token`, `username`, `password`, `key`, a header's name).

    `options` say where the parts go (`{"in": "header", "name": "X-Api-Key"}`) or, for OAuth, which server and scopes.
    `origin` is the only scheme, host and port it may be sent to.
    """

    id: str
    workspace_id: str
    source_id: str
    name: str
    scheme: Scheme
    origin: str
    actor_id: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    status: ConnectionStatus = "ready"
    error: str = ""
    revision: int = 0
    created_by: str = ""
    created_at: int = 0
    updated_at: int = 0
    last_used_at: int | None = None
