"""Who is who: keys, agents, sessions, workspaces, members, invitations."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from executor.identity.agents import Agent
from executor.model.identity.access import AnonymousSession, BrowserSession, Invitation, InvitationStatus, Key
from executor.model.identity.actor import Member, Place, Separation, SeparationChoice
from executor.model.identity.permissions import Role
from executor.model.ids import now_ms
from executor.surfaces.views.base import Named, time


class KeyView(TypedDict):
    id: str
    name: str
    prefix: str
    scopes: list[str]
    actorId: str
    createdAt: str
    expiresAt: str | None
    lastUsedAt: str | None
    revokedAt: str | None


def key_view(key: Key) -> KeyView:
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


class NewKeyView(KeyView):
    token: str


class KeyPage(TypedDict):
    items: list[KeyView]


class AgentView(TypedDict):
    """`toolkitId` is set if its token reaches that toolkit alone."""

    id: str
    name: str
    toolkitId: str | None
    prefix: str | None
    createdAt: str
    expiresAt: str | None
    lastUsedAt: str | None
    revokedAt: str | None


def agent_view(agent: Agent) -> AgentView:
    key = agent.key
    return {
        "id": agent.actor.id,
        "name": agent.actor.name,
        "toolkitId": (key.toolkit_id or None) if key else None,
        "prefix": key.prefix if key else None,
        "createdAt": time(agent.created_at),
        "expiresAt": time(key.expires_at) if key else None,
        "lastUsedAt": time(key.last_used_at) if key else None,
        "revokedAt": time(key.revoked_at) if key else None,
    }


class NewAgentView(AgentView):
    token: str


class AgentPage(TypedDict):
    items: list[AgentView]


class LinkView(TypedDict):
    url: str
    expiresAt: str


class SignedInView(TypedDict):
    actorId: str
    accountId: str
    name: str
    role: Role | None
    workspaceId: str
    expiresAt: str


class SessionView(TypedDict):
    id: str
    workspaceId: str
    agent: str
    current: bool
    createdAt: str
    expiresAt: str
    lastSeenAt: str


def session_view(session: BrowserSession, current: str) -> SessionView:
    return {
        "id": session.id,
        "workspaceId": session.workspace_id,
        "agent": session.agent,
        "current": session.id == current,
        "createdAt": time(session.created_at),
        "expiresAt": time(session.expires_at),
        "lastSeenAt": time(session.last_seen_at),
    }


class SessionPage(TypedDict):
    items: list[SessionView]


class WhoView(TypedDict):
    actorId: str
    kind: str
    name: str
    accountId: str | None
    role: Role | None
    permissions: list[str]
    via: str
    workspace: Named
    organization: Named


class WorkspaceView(TypedDict):
    id: str
    name: str
    organization: Named
    role: str | None
    current: bool


def workspace_view(place: Place, current: str) -> WorkspaceView:
    return {
        "id": place.workspace.id,
        "name": place.workspace.name,
        "organization": {"id": place.organization.id, "name": place.organization.name},
        "role": place.role,
        "current": place.workspace.id == current,
    }


class WorkspacePage(TypedDict):
    items: list[WorkspaceView]


class OrganizationView(TypedDict):
    id: str
    name: str
    role: str | None
    current: bool


class OrganizationPage(TypedDict):
    items: list[OrganizationView]


class SeparationView(TypedDict):
    """`separation` is what was chosen, `inForce` what that means now."""

    separation: SeparationChoice
    inForce: Separation


def separation_view(found: tuple[SeparationChoice, Separation]) -> SeparationView:
    return {"separation": found[0], "inForce": found[1]}


class MemberView(TypedDict):
    accountId: str
    name: str
    email: str
    role: Role
    createdAt: str


def member_view(member: Member) -> MemberView:
    return {
        "accountId": member.account.id,
        "name": member.account.name,
        "email": member.account.email,
        "role": member.role,
        "createdAt": time(member.created_at),
    }


class MemberPage(TypedDict):
    items: list[MemberView]


class InvitationView(TypedDict):
    id: str
    role: Role
    email: str
    status: InvitationStatus
    createdAt: str
    expiresAt: str


def invitation_view(invitation: Invitation) -> InvitationView:
    return {
        "id": invitation.id,
        "role": invitation.role,
        "email": invitation.email,
        "status": invitation.status(now_ms()),
        "createdAt": time(invitation.created_at),
        "expiresAt": time(invitation.expires_at),
    }


class NewInvitationView(InvitationView):
    url: str


class InvitationPage(TypedDict):
    items: list[InvitationView]


class AnonymousSessionView(TypedDict):
    sessionId: str
    workspaceId: str
    actorId: str
    clientId: str


class AnonymousOfferView(TypedDict):
    offered: bool


class AnonymousEntryView(TypedDict):
    workspaceId: str
    lapsesAt: str


class AnonymousKeyView(TypedDict):
    prefix: str
    createdAt: str
    expiresAt: str | None
    lastUsedAt: str | None


class AnonymousWorkspaceView(TypedDict):
    workspaceId: str
    startedAt: str
    lapsesAt: str | None
    mcpUrl: str
    agentKey: AnonymousKeyView | None
    sources: int


def anonymous_workspace_view(
    session: AnonymousSession, key: Key | None, address: str, sources: int
) -> AnonymousWorkspaceView:
    return {
        "workspaceId": session.workspace_id,
        "startedAt": time(session.created_at),
        "lapsesAt": time(session.expires_at) if session.expires_at else None,
        "mcpUrl": f"{address}/mcp/anonymous",
        "agentKey": None
        if key is None
        else {
            "prefix": key.prefix,
            "createdAt": time(key.created_at),
            "expiresAt": time(key.expires_at) if key.expires_at else None,
            "lastUsedAt": time(key.last_used_at) if key.last_used_at else None,
        },
        "sources": sources,
    }


class AnonymousUseView(TypedDict):
    id: str
    workspaceId: str
    browser: bool
    createdAt: str
    lastSeenAt: str
    executions: int
    live: int
    bytes: int


def anonymous_use_view(session: AnonymousSession, executions: int, size: int, live: list[str]) -> AnonymousUseView:
    return {
        "id": session.id,
        "workspaceId": session.workspace_id,
        "browser": bool(session.human_id),
        "createdAt": time(session.created_at),
        "lastSeenAt": time(session.last_seen_at),
        "executions": executions,
        "live": len(live),
        "bytes": size,
    }


class AnonymousUsePage(TypedDict):
    items: list[AnonymousUseView]


class AnonymousTokenView(TypedDict):
    accessToken: str
    tokenType: Literal["Bearer"]
    expiresIn: int
    expiresAt: str
