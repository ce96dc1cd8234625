"""The browser that an anonymous workspace was opened in"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("human_id", "human_digest"):
        column = sa.Column(name, sa.String, nullable=False, server_default="")
        op.add_column("anonymous_sessions", column)
    op.add_column("anonymous_sessions", sa.Column("expires_at", sa.BigInteger))
