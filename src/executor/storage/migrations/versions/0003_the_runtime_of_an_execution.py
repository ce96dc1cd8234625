"""The runtime of an execution, beside its language"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """What is there was run by the runtime named like its language. The default lets the column be added in place."""
    op.add_column("executions", sa.Column("runtime", sa.String(), nullable=False, server_default="typescript"))
    op.get_bind().execute(sa.text("UPDATE executions SET runtime = language"))
