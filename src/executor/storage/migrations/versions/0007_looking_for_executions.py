"""Executions are found by who submitted them and by the tools they called"""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Without these, a rare actor or tool is looked for in every execution there is."""
    op.create_index("ix_executions_workspace_id_actor_id_id", "executions", ["workspace_id", "actor_id", "id"])
    op.create_index("ix_calls_workspace_id_path_execution_id", "calls", ["workspace_id", "path", "execution_id"])
