"""Separation of duties: whether the one who asked for a call may also approve it, as an organization has it."""

from __future__ import annotations

from typing import cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.identity.actor import Separation, SeparationChoice
from executor.storage.prepared_statements import Prepared
from executor.storage.tables.core import accounts, members, organizations, workspaces

_choice = Prepared(
    sa.select(organizations.c.separation)
    .join(workspaces, workspaces.c.organization_id == organizations.c.id)
    .where(workspaces.c.id == sa.bindparam("w"))
)


def read_choice(c: Connection, workspace_id: str) -> SeparationChoice:
    return cast(SeparationChoice, _choice(c, {"w": workspace_id}).one().separation or "default")


def in_force(c: Connection, workspace_id: str) -> Separation:
    """Unless someone chose: destructive calls, once there is a second person who could look at them."""
    choice = read_choice(c, workspace_id)
    if choice != "default":
        return choice
    query = (
        sa.select(members.c.account_id)
        .join(workspaces, workspaces.c.organization_id == members.c.organization_id)
        .join(accounts, accounts.c.id == members.c.account_id)
        .where(workspaces.c.id == workspace_id, accounts.c.disabled_at.is_(None))
    )
    return "destructive" if len(c.execute(query.limit(2)).all()) > 1 else "off"


def choose(c: Connection, organization_id: str, choice: SeparationChoice) -> None:
    value = "" if choice == "default" else choice
    c.execute(sa.update(organizations).where(organizations.c.id == organization_id).values(separation=value))
