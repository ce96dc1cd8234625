"""Search indexes of sources, built by one process for all"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "search_segments",
        sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), nullable=False),
        sa.Column("source_id", sa.String, nullable=False),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("version", sa.String, nullable=False),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("written_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("source_id", "generation", "version", "part"),
    )
