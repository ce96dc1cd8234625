"""As which Unix user a session runs, whether its repository was set up, and whether its clone was removed"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("agent_sessions", sa.Column("unix_user", sa.String(), nullable=False, server_default=""))
    op.add_column("agent_sessions", sa.Column("set_up_at", sa.BigInteger()))
    op.add_column("agent_sessions", sa.Column("removed_at", sa.BigInteger()))
    op.add_column("agent_sessions", sa.Column("snapshot", sa.Text(), nullable=False, server_default=""))
