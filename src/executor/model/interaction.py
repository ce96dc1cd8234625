"""An interaction: what a human must settle before a call, or the agent of a session, continues."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import asdict, field
from functools import lru_cache
from typing import Any, Literal, Protocol

from executor.dataclass import dataclass
from executor.model.digest import digest

InteractionKind = Literal["approval", "unknown_outcome", "credential", "oauth", "elicitation"]
Action = Literal["accept", "decline", "cancel"]
Scope = Literal["once", "execution", "session", "always"]
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
    session_id: str = ""  # of what the agent of a session wants to do, instead of an execution


@lru_cache(maxsize=64)
def digest_binding(binding: Binding) -> str:
    """As events and views name it: when it is requested, when it is settled, and to anyone who looks at it."""
    return digest(asdict(binding))


@dataclass(frozen=True, slots=True)
class Interaction:
    """`prompt` is rendered by the server from its own data: tool, effect, host, arguments, why it was asked.

    It belongs to a call of an execution, or to a session: then `call_seq` is the number of the session's task.
    """

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
    session_id: str = ""


@dataclass(frozen=True, slots=True)
class Elicitation:
    """What a server asks of a person during a call, in its own words: a form by its `schema`, or a page by its `url`.

    `candidates` is how many calls it may belong to: not every server says which one it asks for.
    """

    message: str
    schema: dict[str, Any] | None = None
    url: str = ""
    candidates: int = 1


@dataclass(frozen=True, slots=True)
class ElicitationAnswer:
    action: Action
    content: dict[str, Any] | None = None


class CallListener(Protocol):
    """Hears what a server says while it carries out a call, and has people answer what it asks."""

    secrets: tuple[str, ...]  # of the call, which nothing that is shown may contain

    @property
    def actor_id(self) -> str: ...

    @property
    def execution_id(self) -> str: ...

    @property
    def call_seq(self) -> int: ...

    async def elicit(self, elicitation: Elicitation) -> ElicitationAnswer:
        """Waits until someone answers, perhaps for days. Raises ExecutorError if no one can be asked."""
        ...

    def log(self, level: str, text: str) -> None:
        """Words of the server."""
        ...

    def warn(self, text: str) -> None:
        """Our own words about it."""
        ...


# Of the call that is being sent. Without one, no one hears what a server says, and no one can be asked.
LISTENER: ContextVar[CallListener | None] = ContextVar("executor_call_listener", default=None)
