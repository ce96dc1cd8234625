"""Webhooks, and the log of what is sent to them"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), nullable=False),
        *(sa.Column(name, sa.String, nullable=False) for name in ("name", "kind", "url")),
        sa.Column("events", sa.Text, nullable=False),
        sa.Column("created_by", sa.String, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("key_id", sa.String, nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("private_access", sa.String, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("disabled_reason", sa.String, nullable=False),
        sa.Column("failing_since", sa.BigInteger),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
    )
    op.create_index("ix_webhooks_workspace_id_id", "webhooks", ["workspace_id", "id"])
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("webhook_id", sa.String, sa.ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
        sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), nullable=False),
        sa.Column("event_id", sa.BigInteger, nullable=False),
        sa.Column("type", sa.String, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("next_at", sa.BigInteger, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("attempted_at", sa.BigInteger),
        sa.Column("response_status", sa.Integer),
        sa.Column("error", sa.String, nullable=False),
    )
    op.create_index("ix_webhook_deliveries_webhook_id_id", "webhook_deliveries", ["webhook_id", "id"])
    columns = ["webhook_id", "status", "next_at", "id"]
    op.create_index("ix_webhook_deliveries_webhook_id_status_next_at_id", "webhook_deliveries", columns)
