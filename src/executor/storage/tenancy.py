"""Accounts, organizations, workspaces and actors. The first start provisions one of each for this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.ids import new_id, now_ms
from executor.model.tenancy import Account, Actor, ActorKind, Organization, Workspace
from executor.storage.tables import accounts, actors, members, organizations, workspaces


@dataclass(frozen=True, slots=True)
class Tenancy:
    account: Account
    organization: Organization
    workspace: Workspace
    operator: Actor
    agent: Actor


def provision(c: Connection) -> Tenancy:
    """What the first start made, made now if this is the first start."""
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
        _actor(c, workspace.id, "human"),
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


def _actor(c: Connection, workspace_id: str, kind: ActorKind) -> Actor:
    mine = (actors.c.workspace_id == workspace_id, actors.c.kind == kind)
    row: Any = c.execute(sa.select(actors).where(*mine).order_by(actors.c.id).limit(1)).one()
    return Actor(row.id, row.workspace_id, row.kind, row.name)
