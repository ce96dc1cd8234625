"""Who acts, and where. Every row belongs to a workspace; every request acts as an actor in one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["owner", "admin", "member", "viewer"]
# Which calls nobody approves who asked for them, and what an organization may choose about that.
Separation = Literal["off", "destructive", "all"]
SeparationChoice = Literal["default", "off", "destructive", "all"]
ActorKind = Literal["human", "agent"]
Via = Literal["operator_token", "agent_token", "browser", "api_key", "anonymous", "bearer", "internal"]
# discover: find and describe tools · execute: run code and see what came of it · read: look at everything of the
# workspace · decide: settle interactions · connect: give one's own credentials · administer: sources, policies,
# secrets, shared connections, keys of agents · manage: members, invitations, rules of the organization · own: the
# organization itself · operate: the machine (commands, Python modules, files, the daemon's own vault and environment).
# No role gives `operate`: the account of this installation has it, at its terminal and in its browsers.
Permission = Literal["discover", "execute", "read", "decide", "connect", "administer", "manage", "own", "operate"]

AGENT: frozenset[Permission] = frozenset(("discover", "execute"))
# What a key may be given: nothing that an agent holding it could use to decide or to change what it may do.
KEY: frozenset[Permission] = frozenset(("discover", "execute", "read"))
VIEWER: frozenset[Permission] = frozenset(("discover", "read"))
MEMBER: frozenset[Permission] = VIEWER | {"execute", "decide", "connect"}
ADMIN: frozenset[Permission] = MEMBER | {"administer", "manage"}
OWNER: frozenset[Permission] = ADMIN | {"own"}
OPERATOR: frozenset[Permission] = OWNER | {"operate"}
ROLES: dict[Role, frozenset[Permission]] = {"viewer": VIEWER, "member": MEMBER, "admin": ADMIN, "owner": OWNER}


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

    `via` and `credential_id` say what was shown, `address` from where, `door` by which protocol if not by `/v1`; the
    audit keeps them. `expires_at` is when that credential ends by itself.
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
    door: Literal["", "mcp"] = ""
    expires_at: int | None = None

    def may(self, permission: Permission) -> bool:
        granted = self.permissions if self.permissions is not None else (OWNER if self.kind == "human" else AGENT)
        return permission in granted

    @property
    def is_in_person(self) -> bool:
        """Somebody at a terminal or a browser of theirs, not a program with a key."""
        return self.via in ("operator_token", "browser")

    @property
    def may_decide(self) -> bool:
        return self.may("decide")

    @property
    def origin(self) -> str:
        """For the audit: by which credential, from where."""
        return " ".join(part for part in (self.via, self.credential_id, self.address, self.door) if part)


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
