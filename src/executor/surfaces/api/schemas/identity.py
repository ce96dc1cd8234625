"""Bodies and answers of the routes about who is who: keys, agents, sessions, workspaces, members, invitations."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from executor.identity.agents import Agent
from executor.model.access import AnonymousSession, BrowserSession, Invitation, Key
from executor.model.actor import Member, Place, Separation, SeparationChoice
from executor.model.ids import now_ms
from executor.surfaces.api.schemas.base import Shape
from executor.surfaces.api.schemas.requests import Body
from executor.surfaces.views import View, time

DAY_MS = 86_400_000
Role = Literal["owner", "admin", "member", "viewer"]
Scope = Literal["discover", "execute", "read"]
DEFAULT_SCOPES: list[Scope] = ["discover", "execute"]


def _printable(text: str) -> str:
    """A name stands in lists, prompts and logs: nothing in it may pass for something else."""
    if not text.isprintable() or not text.strip():
        raise ValueError("a name must have visible characters only")
    return text.strip()


Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_printable)]
Days = Annotated[int, Field(ge=1, le=3650)]
Token = Annotated[str, Field(min_length=1, max_length=200)]


class NewKey(Body):
    name: Name
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=3)] = DEFAULT_SCOPES
    expires_in_days: Days | None = 90


class NewAgent(Body):
    """With `keepToken` the daemon keeps the token in its data directory, for `executor mcp --agent NAME`."""

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
    separation: Literal["default", "off", "destructive", "all"]


class SeparationView(Shape):
    """`separation` is what was chosen, `inForce` what that means now."""

    separation: Literal["default", "off", "destructive", "all"]
    in_force: Literal["off", "destructive", "all"]


class NewRole(Body):
    role: Role


class NewInvitation(Body):
    role: Role = "member"
    email: Annotated[str, Field(max_length=200)] = ""
    expires_in_days: Annotated[int, Field(ge=1, le=90)] = 7


class Accept(Body):
    token: Token
    name: Annotated[str, Field(max_length=100)] = ""


class AnonymousToken(Body):
    session_id: Token
    client_id: Annotated[str, Field(max_length=200)] = ""


class Named(Shape):
    id: str
    name: str


class KeyView(Shape):
    id: str
    name: str
    prefix: str
    scopes: list[str]
    actor_id: str
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None


class NewKeyView(KeyView):
    token: str


class KeyPage(Shape):
    items: list[KeyView]


class AgentView(Shape):
    id: str
    name: str
    prefix: str | None
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None


class NewAgentView(AgentView):
    token: str


class AgentPage(Shape):
    items: list[AgentView]


class LinkView(Shape):
    url: str
    expires_at: str


class SignedInView(Shape):
    actor_id: str
    account_id: str
    name: str
    role: Role | None
    workspace_id: str
    expires_at: str


class SessionView(Shape):
    id: str
    workspace_id: str
    agent: str
    current: bool
    created_at: str
    expires_at: str
    last_seen_at: str


class SessionPage(Shape):
    items: list[SessionView]


class WhoView(Shape):
    actor_id: str
    kind: str
    name: str
    account_id: str | None
    role: Role | None
    permissions: list[str]
    via: str
    workspace: Named
    organization: Named


class WorkspaceView(Shape):
    id: str
    name: str
    organization: Named
    role: str | None
    current: bool


class WorkspacePage(Shape):
    items: list[WorkspaceView]


class OrganizationView(Shape):
    id: str
    name: str
    role: str | None
    current: bool


class OrganizationPage(Shape):
    items: list[OrganizationView]


class MemberView(Shape):
    account_id: str
    name: str
    email: str
    role: Role
    created_at: str


class MemberPage(Shape):
    items: list[MemberView]


class InvitationView(Shape):
    id: str
    role: Role
    email: str
    status: Literal["open", "accepted", "revoked", "expired"]
    created_at: str
    expires_at: str


class NewInvitationView(InvitationView):
    url: str


class InvitationPage(Shape):
    items: list[InvitationView]


class AnonymousSessionView(Shape):
    session_id: str
    workspace_id: str
    actor_id: str
    client_id: str


class AnonymousUseView(Shape):
    id: str
    workspace_id: str
    created_at: str
    last_seen_at: str
    executions: int
    live: int
    bytes: int


class AnonymousUsePage(Shape):
    items: list[AnonymousUseView]


def anonymous_use_view(session: AnonymousSession, executions: int, size: int, live: list[str]) -> View:
    return {
        "id": session.id,
        "workspaceId": session.workspace_id,
        "createdAt": time(session.created_at),
        "lastSeenAt": time(session.last_seen_at),
        "executions": executions,
        "live": len(live),
        "bytes": size,
    }


class AnonymousTokenView(Shape):
    access_token: str
    token_type: Literal["Bearer"]
    expires_in: int
    expires_at: str


def visible(name: str) -> str:
    return "".join(character for character in name if character.isprintable()).strip()


def expiry(days: int | None) -> int | None:
    return None if days is None else now_ms() + days * DAY_MS


def key_view(key: Key) -> View:
    return {
        "id": key.id,
        "name": key.name,
        "prefix": key.prefix,
        "scopes": list(key.scopes),
        "actorId": key.actor_id,
        "createdAt": time(key.created_at),
        "expiresAt": time(key.expires_at),
        "lastUsedAt": time(key.last_used_at),
        "revokedAt": time(key.revoked_at),
    }


def agent_view(agent: Agent) -> View:
    key = agent.key
    return {
        "id": agent.actor.id,
        "name": agent.actor.name,
        "prefix": key.prefix if key else None,
        "createdAt": time(agent.created_at),
        "expiresAt": time(key.expires_at) if key else None,
        "lastUsedAt": time(key.last_used_at) if key else None,
        "revokedAt": time(key.revoked_at) if key else None,
    }


def session_view(session: BrowserSession, current: str) -> View:
    return {
        "id": session.id,
        "workspaceId": session.workspace_id,
        "agent": session.agent,
        "current": session.id == current,
        "createdAt": time(session.created_at),
        "expiresAt": time(session.expires_at),
        "lastSeenAt": time(session.last_seen_at),
    }


def workspace_view(place: Place, current: str) -> View:
    return {
        "id": place.workspace.id,
        "name": place.workspace.name,
        "organization": {"id": place.organization.id, "name": place.organization.name},
        "role": place.role,
        "current": place.workspace.id == current,
    }


def separation_view(found: tuple[SeparationChoice, Separation]) -> View:
    return {"separation": found[0], "inForce": found[1]}


def member_view(member: Member) -> View:
    return {
        "accountId": member.account.id,
        "name": member.account.name,
        "email": member.account.email,
        "role": member.role,
        "createdAt": time(member.created_at),
    }


def invitation_view(invitation: Invitation) -> View:
    return {
        "id": invitation.id,
        "role": invitation.role,
        "email": invitation.email,
        "status": invitation.status(now_ms()),
        "createdAt": time(invitation.created_at),
        "expiresAt": time(invitation.expires_at),
    }
