"""The documents that sources were read from, and what reading them again changed"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "documents",
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("read_at", sa.BigInteger(), nullable=False),
        *owned("documents"),
        sa.PrimaryKeyConstraint("source_id", name=op.f("pk_documents")),
    )
    op.create_table(
        "revisions",
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("added", "removed", "changed", "reworded")),
        sa.Column("entries", sa.LargeBinary(), nullable=False),
        *owned("revisions"),
        sa.PrimaryKeyConstraint("source_id", "at", name=op.f("pk_revisions")),
    )


def owned(table: str) -> list[sa.ForeignKeyConstraint]:
    return [
        sa.ForeignKeyConstraint(["source_id"], ["sources.id"], ondelete="CASCADE", name=op.f(f"fk_{table}_source_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f(f"fk_{table}_workspace_id")),
    ]
