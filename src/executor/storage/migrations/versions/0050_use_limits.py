"""Limits and weights of workspaces and actors, and priorities of executions"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None

QUEUED = sa.text("status = 'queued'")
OWNED = sa.text("owner != ''")


def upgrade() -> None:
    op.add_column("executions", sa.Column("priority", sa.Integer, nullable=False, server_default="1"))
    op.create_table(
        "use_limits",
        sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), primary_key=True),
        sa.Column("actor_id", sa.String, primary_key=True),
        sa.Column("running", sa.Integer),
        sa.Column("queued", sa.Integer),
        sa.Column("per_minute", sa.Integer),
        sa.Column("weight", sa.Integer),
        sa.Column("priority", sa.String),
    )
    if op.get_bind().dialect.name == "postgresql":
        columns = ["workspace_id", "priority", "actor_id", "id"]
        op.create_index("ix_executions_claimed_next", "executions", columns, postgresql_where=QUEUED)
        op.create_index("ix_executions_owned", "executions", ["workspace_id", "actor_id"], postgresql_where=OWNED)
