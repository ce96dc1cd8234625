"""Accounts and what they are in an organization."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.identity.actor import Account, Member
from executor.model.identity.permissions import Role
from executor.model.ids import new_id, now_ms
from executor.storage.tables.core import accounts, actors, members, workspaces
from executor.storage.upserts import insert_missing


def listing(c: Connection, organization_id: str) -> list[Member]:
    query = _query().where(members.c.organization_id == organization_id)
    return [_member(row) for row in c.execute(query.order_by(members.c.created_at, accounts.c.id))]


def of_workspace(c: Connection, workspace_id: str) -> list[Member]:
    """Those of its organization who can sign in, in the order in which they came."""
    query = _query().join(workspaces, workspaces.c.organization_id == members.c.organization_id)
    query = query.where(workspaces.c.id == workspace_id, accounts.c.disabled_at.is_(None))
    return [_member(row) for row in c.execute(query.order_by(members.c.created_at, accounts.c.id))]


def get(c: Connection, organization_id: str, account_id: str) -> Member | None:
    mine = (members.c.organization_id == organization_id, members.c.account_id == account_id)
    row = c.execute(_query().where(*mine)).first()
    return _member(row) if row else None


def add(c: Connection, organization_id: str, account_id: str, role: Role) -> None:
    """One who is a member already keeps the role they have."""
    row = {"organization_id": organization_id, "account_id": account_id, "role": role, "created_at": now_ms()}
    insert_missing(c, members, row)


def change(c: Connection, organization_id: str, account_id: str, role: Role) -> None:
    mine = (members.c.organization_id == organization_id, members.c.account_id == account_id)
    c.execute(sa.update(members).where(*mine).values(role=role))


def remove(c: Connection, organization_id: str, account_id: str) -> None:
    mine = (members.c.organization_id == organization_id, members.c.account_id == account_id)
    c.execute(sa.delete(members).where(*mine))


def owners(c: Connection, organization_id: str) -> int:
    mine = (members.c.organization_id == organization_id, members.c.role == "owner")
    return int(c.execute(sa.select(sa.func.count()).select_from(members).where(*mine)).scalar_one())


def add_account(c: Connection, name: str, email: str = "") -> Account:
    made = Account(new_id("acc"), name, email)
    c.execute(sa.insert(accounts), {"id": made.id, "name": name, "email": email, "created_at": now_ms()})
    return made


def account(c: Connection, account_id: str) -> Account | None:
    row = c.execute(sa.select(accounts).where(accounts.c.id == account_id)).first()
    return Account(row.id, row.name, row.email) if row else None


def actors_of(c: Connection, workspace_id: str, account_id: str) -> list[str]:
    mine = (actors.c.workspace_id == workspace_id, actors.c.account_id == account_id)
    return list(c.execute(sa.select(actors.c.id).where(*mine)).scalars())


def _query() -> sa.Select[Any]:
    columns = (accounts.c.id, accounts.c.name, accounts.c.email, members.c.role, members.c.created_at)
    return sa.select(*columns).join(members, members.c.account_id == accounts.c.id)


def _member(row: Any) -> Member:
    return Member(Account(row.id, row.name, row.email), row.role, row.created_at)
