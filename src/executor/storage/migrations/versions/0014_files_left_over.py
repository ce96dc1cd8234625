"""Files whose content is still to be removed are found by an index"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

LEFT_OVER = sa.text("form = 'file' AND deleted_at IS NOT NULL AND preview != ''")


def upgrade() -> None:
    """Each start asks for them, and must not read every artifact there ever was. The index is empty nearly always."""
    op.create_index(
        "ix_artifacts_left_over",
        "artifacts",
        ["created_at"],
        sqlite_where=LEFT_OVER,
        postgresql_where=LEFT_OVER,
    )
