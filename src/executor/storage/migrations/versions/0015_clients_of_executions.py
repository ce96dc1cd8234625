"""Which client submitted an execution, as it calls itself"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("client_id", "client_name"):
        op.add_column("executions", sa.Column(name, sa.String(), nullable=False, server_default=""))
