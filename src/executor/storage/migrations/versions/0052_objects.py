"""Artifacts whose content is in an object store"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0050"
branch_labels = None
depends_on = None

INDEXES = (
    ("ix_artifacts_object_key", "object_key", "object_key IS NOT NULL"),
    ("ix_artifacts_old_object", "deleted_at", "object_key IS NOT NULL AND deleted_at IS NOT NULL"),
    ("ix_artifacts_in_rows", "size", "object_key IS NULL AND deleted_at IS NULL"),
)


def upgrade() -> None:
    op.add_column("artifacts", sa.Column("object_key", sa.String))
    for name, column, condition in INDEXES:
        where = sa.text(condition)
        op.create_index(name, "artifacts", [column], sqlite_where=where, postgresql_where=where)
    op.create_table(
        "object_prefixes",
        sa.Column("location", sa.String, primary_key=True),
        sa.Column("token", sa.String, nullable=False),
        sa.Column("last_token", sa.String, nullable=False),
        sa.Column("swept_at", sa.BigInteger, nullable=False),
    )
