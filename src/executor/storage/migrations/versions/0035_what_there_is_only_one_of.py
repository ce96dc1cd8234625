"""One account for a subject, one actor for an account or a subject in a workspace, one workspace of a name"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

VOUCHED = sa.text("issuer != ''")


def upgrade() -> None:
    """Of several alike the oldest stays what it is: it is the one that was used. The others stay in the history."""
    _set_apart("accounts", ("issuer", "subject"), "issuer != ''", "issuer = '', subject = ''")
    _set_apart("actors", ("workspace_id", "issuer", "subject"), "issuer != ''", "issuer = '', subject = ''")
    _set_apart("actors", ("workspace_id", "account_id", "kind"), "account_id IS NOT NULL", "account_id = NULL")
    _set_apart("workspaces", ("organization_id", "name"), "1 = 1", "name = name || ' ' || id")
    _create("uq_accounts_subject", "accounts", ["issuer", "subject"], is_vouched=True)
    _create("uq_actors_subject", "actors", ["workspace_id", "issuer", "subject"], is_vouched=True)
    _create("uq_actors_account", "actors", ["workspace_id", "account_id", "kind"])
    _create("uq_workspaces_name", "workspaces", ["organization_id", "name"])


def _set_apart(table: str, key: tuple[str, ...], those: str, change: str) -> None:
    first = f"SELECT min(id) FROM {table} WHERE {those} GROUP BY {', '.join(key)}"  # noqa: S608 - words of this file
    op.execute(f"UPDATE {table} SET {change} WHERE {those} AND id NOT IN ({first})")  # noqa: S608


def _create(name: str, table: str, columns: list[str], *, is_vouched: bool = False) -> None:
    where = VOUCHED if is_vouched else None
    op.create_index(name, table, columns, unique=True, sqlite_where=where, postgresql_where=where)
