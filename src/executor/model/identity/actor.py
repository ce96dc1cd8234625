"""Who acts, and where. Every row belongs to a workspace; every request acts as an actor in one."""

from __future__ import annotations

from typing import Literal

from executor.dataclass import dataclass
from executor.model.identity.permissions import AGENT, OWNER, Permission, Role

# Which calls no one approves who asked for them, and what an organization may choose about that.
Separation = Literal["off", "destructive", "all"]
SeparationChoice = Literal["default", "off", "destructive", "all"]
ActorKind = Literal["human", "agent"]
Via = Literal[
    "operator_token", "agent_token", "browser", "api_key", "anonymous", "anonymous_browser", "bearer", "internal"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Account:
    id: str
    name: str
    email: str = ""


@dataclass(frozen=True, slots=True)
class Organization:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Workspace:
    id: str
    organization_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Actor:
    """Who a request acts as. What it may do follows from the credential that was shown, never from its content.

    `via` and `credential_id` say what was shown, `address` from where, `surface` by which protocol if not by `/v1`; the
    audit keeps them. `expires_at` is when that credential expires. With a `toolkit_id` it reaches nothing outside of
    that toolkit.
    """

    id: str
    workspace_id: str
    kind: ActorKind
    name: str
    permissions: frozenset[Permission] | None = None
    account_id: str = ""
    via: Via = "internal"
    credential_id: str = ""
    address: str = ""
    surface: Literal["", "mcp"] = ""
    expires_at: int | None = None
    toolkit_id: str = ""

    def may(self, permission: Permission) -> bool:
        granted = self.permissions if self.permissions is not None else (OWNER if self.kind == "human" else AGENT)
        return permission in granted

    @property
    def is_in_person(self) -> bool:
        """Someone at a terminal or a browser of theirs, not a program with a key."""
        return self.via in ("operator_token", "browser")

    @property
    def is_stranger(self) -> bool:
        """No one vouches for them: an anonymous agent, or the browser that its workspace was opened in."""
        return self.via in ("anonymous", "anonymous_browser")

    @property
    def may_decide(self) -> bool:
        return self.may("decide")

    @property
    def origin(self) -> str:
        """For the audit: by which credential, from where."""
        return " ".join(part for part in (self.via, self.credential_id, self.address, self.surface) if part)


@dataclass(frozen=True, slots=True)
class Member:
    account: Account
    role: Role
    created_at: int


@dataclass(frozen=True, slots=True)
class Place:
    """A workspace with what an account is in it."""

    workspace: Workspace
    organization: Organization
    role: Role
    created_at: int
