"""Toolkits, the keys that reach only one of them, and the toolkit that an execution is narrowed to"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "toolkits",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), nullable=False),
        *(sa.Column(name, sa.String, nullable=False) for name in ("slug", "name")),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("description", "patterns", "policies", "pass_through")),
        sa.Column("created_by", sa.String, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("workspace_id", "slug", name="uq_toolkits_workspace_id_slug"),
    )
    for table in ("api_keys", "executions"):
        op.add_column(table, sa.Column("toolkit_id", sa.String, nullable=False, server_default=""))
