"""Who may approve what they asked for, and where each secret may be sent"""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("organizations", sa.Column("separation", sa.String(), nullable=False, server_default=""))
    op.add_column("secrets", sa.Column("origins", sa.Text(), nullable=False, server_default="[]"))
    bind(op.get_bind())


def bind(c: sa.Connection) -> None:
    """A secret that has a name belongs to where the workspace's oldest connection sends it."""
    secrets = sa.table("secrets", sa.column("id"), sa.column("name"), sa.column("origins"))
    wired = sa.table("connections", *map(sa.column, ("id", "workspace_id", "actor_id", "origin", "inputs")))
    first: dict[str, str] = {}
    for row in c.execute(sa.select(wired.c.origin, wired.c.inputs).order_by(wired.c.actor_id != "", wired.c.id)):
        for secret_id in json.loads(row.inputs or "{}").values():
            first.setdefault(secret_id, row.origin)
    for row in c.execute(sa.select(secrets.c.id, secrets.c.name)).all():
        if ":" not in row.name and first.get(row.id):
            origins = json.dumps([first[row.id]])
            c.execute(sa.update(secrets).where(secrets.c.id == row.id).values(origins=origins))
