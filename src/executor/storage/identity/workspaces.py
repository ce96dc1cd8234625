"""Organizations and their workspaces, as an account that belongs to them sees them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.identity.actor import Organization, Place, Workspace
from executor.model.ids import new_id, now_ms
from executor.storage.tables.core import accounts, members, organizations, workspaces
from executor.storage.upserts import lock_row


def of_account(c: Connection, account_id: str) -> list[Place]:
    mine = (members.c.account_id == account_id, accounts.c.disabled_at.is_(None))
    query = (
        sa.select(workspaces, organizations.c.name.label("organization"), members.c.role)
        .join(organizations, organizations.c.id == workspaces.c.organization_id)
        .join(members, members.c.organization_id == organizations.c.id)
        .join(accounts, accounts.c.id == members.c.account_id)
        .where(*mine)
    )
    return [_place(row) for row in c.execute(query.order_by(workspaces.c.id))]


def get(c: Connection, workspace_id: str) -> tuple[Workspace, Organization]:
    """The one that someone acts in."""
    query = (
        sa.select(workspaces, organizations.c.name.label("organization"))
        .join(organizations, organizations.c.id == workspaces.c.organization_id)
        .where(workspaces.c.id == workspace_id)
    )
    row = c.execute(query).one()
    found = Workspace(row.id, row.organization_id, row.name)
    return found, Organization(row.organization_id, row.organization)


def exists(c: Connection, workspace_id: str) -> bool:
    return c.execute(sa.select(workspaces.c.id).where(workspaces.c.id == workspace_id)).first() is not None


def create(c: Connection, organization_id: str, name: str) -> Workspace:
    made = Workspace(new_id("ws"), organization_id, name)
    row = {"id": made.id, "organization_id": organization_id, "name": name, "created_at": now_ms()}
    c.execute(sa.insert(workspaces), row)
    return made


def create_organization(c: Connection, name: str) -> Organization:
    made = Organization(new_id("org"), name)
    c.execute(sa.insert(organizations), {"id": made.id, "name": name, "created_at": now_ms()})
    return made


def lock_organization(c: Connection, organization_id: str) -> None:
    """For what must be true of all of its members or workspaces together, such as that one of them is an owner."""
    lock_row(c, organizations, organization_id)


def lock(c: Connection, workspace_id: str) -> None:
    lock_row(c, workspaces, workspace_id)


def rename(c: Connection, organization_id: str, workspace_id: str, name: str) -> bool:
    mine = (workspaces.c.organization_id == organization_id, workspaces.c.id == workspace_id)
    return c.execute(sa.update(workspaces).where(*mine).values(name=name)).rowcount == 1


def rename_organization(c: Connection, organization_id: str, name: str) -> None:
    c.execute(sa.update(organizations).where(organizations.c.id == organization_id).values(name=name))


def ids(c: Connection, organization_id: str) -> list[str]:
    query = sa.select(workspaces.c.id).where(workspaces.c.organization_id == organization_id)
    return list(c.execute(query.order_by(workspaces.c.id)).scalars())


def is_named(c: Connection, organization_id: str, name: str) -> bool:
    mine = (workspaces.c.organization_id == organization_id, workspaces.c.name == name)
    return c.execute(sa.select(workspaces.c.id).where(*mine)).first() is not None


def _place(row: Any) -> Place:
    return Place(
        Workspace(row.id, row.organization_id, row.name),
        Organization(row.organization_id, row.organization),
        row.role,
        row.created_at,
    )
