"""What a configuration file or `EXECUTOR_TOOL_SOURCES` has made is recorded"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "declarations",
        sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), primary_key=True),
        sa.Column("noun", sa.String, primary_key=True),
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("origin", sa.String, nullable=False),
        sa.Column("resource_id", sa.String, nullable=False),
        sa.Column("digest", sa.String, nullable=False),
        sa.Column("applied_at", sa.BigInteger, nullable=False),
    )
