"""Keys for model providers, and what agent sessions use with them"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0020"
branch_labels = None
depends_on = None

USAGE = ("input", "cache_read", "cache_write", "cache_write_1h", "output", "thoughts")
OPEN = sa.text("state = 'open'")


def upgrade() -> None:
    op.create_table(
        "model_keys",
        sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), primary_key=True),
        sa.Column("provider", sa.String, primary_key=True),
        sa.Column("actor_id", sa.String, primary_key=True),
        sa.Column("secret_id", sa.String, nullable=False),
        sa.Column("created_by", sa.String, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "model_requests",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), nullable=False),
        *(sa.Column(name, sa.String, nullable=False) for name in ("session_id", "actor_id", "provider", "model")),
        sa.Column("endpoint", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("reserved", sa.BigInteger, nullable=False),
        sa.Column("cost", sa.BigInteger, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in USAGE),
    )
    columns = ["workspace_id", "session_id", "id"]
    op.create_index("ix_model_requests_workspace_id_session_id_id", "model_requests", columns)
    op.create_index("ix_model_requests_open", "model_requests", ["id"], sqlite_where=OPEN, postgresql_where=OPEN)
    op.create_table(
        "model_totals",
        sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), primary_key=True),
        *(sa.Column(name, sa.String, primary_key=True) for name in ("scope", "owner_id", "period")),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("requests", "reserved", "cost", *USAGE)),
    )
