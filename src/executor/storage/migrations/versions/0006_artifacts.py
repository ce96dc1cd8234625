"""Artifacts: large results beside the rows that are read all the time"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """What is there stays where it is: only results to come are kept apart."""
    op.add_column("executions", sa.Column("artifact_id", sa.String()))
    op.add_column("calls", sa.Column("artifact_id", sa.String()))
    op.create_table(
        "artifacts",
        *(sa.Column(name, sa.String(), nullable=False) for name in ("id", "workspace_id", "execution_id")),
        sa.Column("call_seq", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("name", "media_type", "form")),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("preview", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("deleted_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["executions.id"], name=op.f("fk_artifacts_execution_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_artifacts_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifacts")),
        sa.UniqueConstraint(
            "execution_id", "call_seq", "name", "digest", name=op.f("uq_artifacts_execution_id_call_seq_name_digest")
        ),
    )
    op.create_index(op.f("ix_artifacts_workspace_id_id"), "artifacts", ["workspace_id", "id"])
    op.create_table(
        "chunks",
        sa.Column("execution_id", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["executions.id"], name=op.f("fk_chunks_execution_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_chunks_workspace_id")),
        sa.PrimaryKeyConstraint("execution_id", "digest", "seq", name=op.f("pk_chunks")),
    )
