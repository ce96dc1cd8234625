"""Bodies of the requests about who is who: keys, agents, sessions, workspaces, members, invitations, limits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from executor.model.identity.actor import SeparationChoice
from executor.model.identity.permissions import Role
from executor.model.ids import now_ms
from executor.model.use_limits import MOST_WEIGHT, Priority
from executor.surfaces.api.schemas.requests import Body, check_printable

DAY_MS = 86_400_000
Scope = Literal["discover", "execute", "read"]
DEFAULT_SCOPES: list[Scope] = ["discover", "execute"]


Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(check_printable)]
Days = Annotated[int, Field(ge=1, le=3650)]
Token = Annotated[str, Field(min_length=1, max_length=200)]


class NewKey(Body):
    name: Name
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=3)] = DEFAULT_SCOPES
    expires_in_days: Days | None = 90


class NewAgent(Body):
    """With `keepToken` the daemon stores the token in its data directory, for `executor mcp --agent NAME`."""

    name: Name
    expires_in_days: Days | None = None
    keep_token: bool = False


class NewLink(Body):
    account_id: Annotated[str, Field(max_length=100)] = ""


class SignIn(Body):
    token: Token


class NewName(Body):
    name: Name


class NewSeparation(Body):
    separation: SeparationChoice


class NewRole(Body):
    role: Role


class NewInvitation(Body):
    role: Role = "member"
    email: Annotated[str, Field(max_length=200)] = ""
    expires_in_days: Annotated[int, Field(ge=1, le=90)] = 7


class Accept(Body):
    token: Token
    name: Annotated[str, Field(max_length=100)] = ""


class AnonymousStart(Body):
    """With the `sessionId` of an earlier start, the same workspace, actor and client."""

    session_id: Token | None = None


class AnonymousToken(Body):
    session_id: Token
    client_id: Annotated[str, Field(max_length=200)] = ""


def visible(name: str) -> str:
    return "".join(character for character in name if character.isprintable()).strip()


def expiry(days: int | None) -> int | None:
    return None if days is None else now_ms() + days * DAY_MS


Count = Annotated[int, Field(ge=0, le=1_000_000)]
Weight = Annotated[int, Field(ge=1, le=MOST_WEIGHT)]


class ChangedWorkspaceLimits(Body):
    """0 is no limit; `null` is the default."""

    running: Count | None = None
    queued: Count | None = None
    per_minute: Count | None = None
    weight: Weight | None = None


class ChangedActorLimits(ChangedWorkspaceLimits):
    """`priority` is the highest that its executions may have."""

    priority: Priority | None = None
