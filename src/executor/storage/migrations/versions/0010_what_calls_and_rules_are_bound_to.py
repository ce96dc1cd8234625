"""Where each call was sent and with which credential; which tools and sources each rule was made for"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Rules that are there keep holding for every source that is connected now."""
    op.add_column("calls", sa.Column("route", sa.String(), nullable=False, server_default=""))
    op.add_column("policies", sa.Column("made_for", sa.Text(), nullable=False, server_default=""))
    op.add_column("policies", sa.Column("excluded", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("policies", sa.Column("retired_at", sa.BigInteger()))
