"""Every list is walked by an index, newest first"""

from __future__ import annotations

from alembic import op

revision = "0011"
down_revision = "0012"
branch_labels = None
depends_on = None

INDEXES = (
    ("executions", ("workspace_id", "id")),
    ("executions", ("workspace_id", "language", "id")),
    ("executions", ("workspace_id", "runtime", "id")),
    ("interactions", ("workspace_id", "id")),
    ("events", ("workspace_id", "type", "id")),
)


def upgrade() -> None:
    """Without these, a list sorts everything that a workspace has ever had."""
    for table, columns in INDEXES:
        op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))
