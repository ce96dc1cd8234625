"""Clients' own names for what they submitted"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "submissions",
        sa.Column("actor_id", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("execution_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["actor_id"], ["actors.id"], name=op.f("fk_submissions_actor_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_submissions_workspace_id")),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["executions.id"], ondelete="CASCADE", name=op.f("fk_submissions_execution_id")
        ),
        sa.PrimaryKeyConstraint("actor_id", "key", name=op.f("pk_submissions")),
    )
    op.create_index(op.f("ix_submissions_execution_id"), "submissions", ["execution_id"])
