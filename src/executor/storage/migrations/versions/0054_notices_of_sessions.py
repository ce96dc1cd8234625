"""Notices of sessions, which are few among many records"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None

NOTICES = sa.text("kind = 'notice'")


def upgrade() -> None:
    columns = ["session_id", "position"]
    name, table = "ix_session_messages_notices", "session_messages"
    op.create_index(name, table, columns, sqlite_where=NOTICES, postgresql_where=NOTICES)
