"""Accounts, organizations, workspaces and actors. The first start provisions one of each for this machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.model.identity.actor import Account, Actor, ActorKind, Organization, Workspace
from executor.model.identity.permissions import OPERATOR, ROLES, Role
from executor.model.ids import new_id, now_ms
from executor.storage.tables.access import api_keys
from executor.storage.tables.core import accounts, actors, members, organizations, workspaces
from executor.storage.upserts import insert_missing


@dataclass(frozen=True, slots=True)
class Tenancy:
    account: Account
    organization: Organization
    workspace: Workspace
    operator: Actor
    agent: Actor


def provision(c: Connection) -> Tenancy:
    """What the first start made, made now if this is the first start. Of several at once, one makes it."""
    if c.dialect.name == "postgresql":
        c.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext('executor provision'))"))
    row = c.execute(sa.select(accounts).order_by(accounts.c.id).limit(1)).first()
    if row is None:
        _create(c)
        row = c.execute(sa.select(accounts).limit(1)).one()
    organization = c.execute(sa.select(organizations).order_by(organizations.c.id).limit(1)).one()
    workspace = c.execute(sa.select(workspaces).order_by(workspaces.c.id).limit(1)).one()
    return Tenancy(
        Account(row.id, row.name),
        Organization(organization.id, organization.name),
        Workspace(workspace.id, workspace.organization_id, workspace.name),
        replace(_actor(c, workspace.id, "human", row.id), permissions=OPERATOR),
        _actor(c, workspace.id, "agent"),
    )


def _create(c: Connection) -> None:
    at = now_ms()
    account, organization, workspace = new_id("acc"), new_id("org"), new_id("ws")
    c.execute(sa.insert(accounts), {"id": account, "name": "local", "created_at": at})
    c.execute(sa.insert(organizations), {"id": organization, "name": "personal", "created_at": at})
    membership = {"organization_id": organization, "account_id": account, "role": "owner", "created_at": at}
    c.execute(sa.insert(members), membership)
    place = {"id": workspace, "organization_id": organization, "name": "default", "created_at": at}
    c.execute(sa.insert(workspaces), place)
    for kind, name, owner in (("human", "operator", account), ("agent", "agent", None)):
        actor = {"id": new_id("act"), "workspace_id": workspace, "account_id": owner, "kind": kind, "name": name}
        c.execute(sa.insert(actors), {**actor, "created_at": at})


def _actor(c: Connection, workspace_id: str, kind: ActorKind, account_id: str | None = None) -> Actor:
    mine = (actors.c.workspace_id == workspace_id, actors.c.kind == kind, actors.c.account_id == account_id)
    return _read(c.execute(sa.select(actors).where(*mine).order_by(actors.c.id).limit(1)).one())


def actor(c: Connection, workspace_id: str, actor_id: str) -> Actor | None:
    mine = (actors.c.workspace_id == workspace_id, actors.c.id == actor_id)
    row = c.execute(sa.select(actors).where(*mine)).first()
    return _read(row) if row else None


def agents(c: Connection, workspace_id: str) -> list[tuple[Actor, int]]:
    """With the time each was created."""
    mine = (actors.c.workspace_id == workspace_id, actors.c.kind == "agent")
    return [(_read(row), row.created_at) for row in c.execute(sa.select(actors).where(*mine).order_by(actors.c.id))]


def local_account(c: Connection) -> str:
    """The account of this installation: the first there ever was."""
    return c.execute(sa.select(accounts.c.id).order_by(accounts.c.id).limit(1)).scalar_one()  # type: ignore[no-any-return]


def account_behind(c: Connection, workspace_id: str, actor_id: str) -> str:
    """The account that answers for an actor: a human's own, or of an agent anyone who made its token.

    This installation's own agent is its own account's. Empty where no one is known: strangers, and agents that an
    outside authorization server vouches for.
    """
    found = actor(c, workspace_id, actor_id)
    if found is None or found.kind == "human":
        return found.account_id if found else ""
    mine = (api_keys.c.workspace_id == workspace_id, api_keys.c.actor_id == actor_id)
    maker = sa.select(api_keys.c.created_by).where(*mine).order_by(api_keys.c.id.desc()).limit(1)
    made_by = c.execute(maker).scalar_one_or_none()
    if made_by is not None:
        human = actor(c, workspace_id, made_by)
        return human.account_id if human else ""
    first = sa.select(actors.c.id).where(actors.c.kind == "agent").order_by(actors.c.id).limit(1)
    return local_account(c) if c.execute(first).scalar_one() == actor_id else ""


def role(c: Connection, workspace_id: str, account_id: str) -> Role | None:
    """Of an account in the organization of a workspace. None for strangers and for accounts that were disabled."""
    query = (
        sa.select(members.c.role)
        .join(workspaces, workspaces.c.organization_id == members.c.organization_id)
        .join(accounts, accounts.c.id == members.c.account_id)
        .where(workspaces.c.id == workspace_id, members.c.account_id == account_id, accounts.c.disabled_at.is_(None))
    )
    found: Role | None = c.execute(query).scalar_one_or_none()
    return found


def human(c: Connection, workspace_id: str, account_id: str, *, create: bool = True) -> Actor | None:
    """The actor of an account in a workspace, with what its role allows; made when a member first comes here."""
    held = role(c, workspace_id, account_id) if account_id else None
    if held is None:
        return None
    mine = (actors.c.workspace_id == workspace_id, actors.c.account_id == account_id, actors.c.kind == "human")
    row = c.execute(sa.select(actors).where(*mine).order_by(actors.c.id).limit(1)).first()
    if row is None and create:
        name = c.execute(sa.select(accounts.c.name).where(accounts.c.id == account_id)).scalar_one()
        return replace(add_actor(c, workspace_id, "human", name, account_id), permissions=ROLES[held])
    return replace(_read(row), permissions=ROLES[held]) if row else None


def add_actor(c: Connection, workspace_id: str, kind: ActorKind, name: str, account_id: str = "") -> Actor:
    made = Actor(new_id("act"), workspace_id, kind, name, account_id=account_id)
    row = {"id": made.id, "workspace_id": workspace_id, "account_id": account_id or None, "kind": kind, "name": name}
    if insert_missing(c, actors, {**row, "created_at": now_ms()}):
        return made
    return _actor(c, workspace_id, kind, account_id)  # someone else has just added it


def _read(row: Any) -> Actor:
    return Actor(row.id, row.workspace_id, row.kind, row.name, account_id=row.account_id or "")
