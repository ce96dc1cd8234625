"""Who runs an execution, and the processes that share a database"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0035"
branch_labels = None
depends_on = None

OWNED = sa.text("owner != ''")
QUEUED = sa.text("status = 'queued'")


def upgrade() -> None:
    text, number = sa.String(), sa.Integer()
    columns = (("owner", text, ""), ("segment", number, "0"), ("attempts", number, "0"), ("typecheck", text, ""))
    for name, kind, default in columns:
        op.add_column("executions", sa.Column(name, kind, nullable=False, server_default=default))
    op.create_index("ix_executions_owner", "executions", ["owner"], sqlite_where=OWNED, postgresql_where=OWNED)
    op.create_index("ix_executions_queued", "executions", ["id"], sqlite_where=QUEUED, postgresql_where=QUEUED)
    op.create_table(
        "workers",
        sa.Column("id", sa.String(), nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("host", "role", "place", "version")),
        sa.Column("lease_seconds", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.DateTime(timezone=True), nullable=False) for name in ("started_at", "seen_at")),
        sa.Column("dead_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name="pk_workers"),
    )
    op.create_table(
        "guards",
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", name="pk_guards"),
    )
    if op.get_bind().dialect.name == "postgresql":  # until now one process wrote: what it left belongs to anyone
        op.execute("UPDATE executions SET status = 'queued' WHERE status = 'running'")
