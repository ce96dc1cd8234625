"""How people and programs get in: keys, sessions and invitations."""

from __future__ import annotations

from typing import Literal

from executor.dataclass import dataclass
from executor.model.identity.permissions import Role

InvitationStatus = Literal["open", "accepted", "revoked", "expired"]
KeyKind = Literal["personal", "agent", "anonymous"]


@dataclass(frozen=True, slots=True)
class Key:
    id: str
    workspace_id: str
    actor_id: str
    kind: KeyKind
    name: str
    prefix: str
    scopes: tuple[str, ...]
    created_by: str
    created_at: int
    expires_at: int | None = None
    last_used_at: int | None = None
    revoked_at: int | None = None
    toolkit_id: str = ""

    def usable(self, now: int) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


# Vouches for the agents of sessions. Their subjects begin with the account of the person who started the session.
SESSIONS = "executor:sessions"


@dataclass(frozen=True, slots=True)
class BrowserSession:
    id: str
    workspace_id: str
    account_id: str
    agent: str
    created_at: int
    expires_at: int
    last_seen_at: int


@dataclass(frozen=True, slots=True)
class AnonymousSession:
    """`human_id` is the actor of the browser that it was started in, and `expires_at` when that ends; an agent that
    started it has neither."""

    id: str
    workspace_id: str
    actor_id: str
    client_id: str
    created_at: int
    last_seen_at: int
    human_id: str = ""
    expires_at: int | None = None


@dataclass(frozen=True, slots=True)
class Invitation:
    id: str
    organization_id: str
    email: str
    role: Role
    created_by: str
    created_at: int
    expires_at: int
    accepted_at: int | None = None
    accepted_by: str = ""
    revoked_at: int | None = None

    def status(self, now: int) -> InvitationStatus:
        if self.accepted_at is not None:
            return "accepted"
        if self.revoked_at is not None:
            return "revoked"
        return "open" if now < self.expires_at else "expired"
