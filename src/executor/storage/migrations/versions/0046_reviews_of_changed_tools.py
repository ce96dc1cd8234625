"""Changed tools that wait for a review"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tools", sa.Column("held", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_table(
        "tool_reviews",
        sa.Column("source_id", sa.String, sa.ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("path", sa.String, primary_key=True),
        sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), nullable=False),
        sa.Column("before", sa.Text),
        sa.Column("offered", sa.Text),
        sa.Column("since", sa.BigInteger, nullable=False),
    )
