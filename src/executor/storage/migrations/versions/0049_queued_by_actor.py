"""What is queued, by whose it is"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0046"
branch_labels = None
depends_on = None

QUEUED = sa.text("status = 'queued'")


def upgrade() -> None:
    op.drop_index("ix_executions_queued", "executions")
    columns = ["workspace_id", "actor_id", "id"]
    op.create_index("ix_executions_queued", "executions", columns, sqlite_where=QUEUED, postgresql_where=QUEUED)
