"""Tables of webhooks and of what is sent to them."""

from __future__ import annotations

import sqlalchemy as sa

from executor.storage.tables.core import metadata, workspace_column

webhooks = sa.Table(
    "webhooks",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("url", sa.String, nullable=False),
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
    sa.Index(None, "workspace_id", "id"),
)

webhook_deliveries = sa.Table(
    "webhook_deliveries",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("webhook_id", sa.String, sa.ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    workspace_column(),
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
    sa.Index(None, "webhook_id", "id"),
    sa.Index(None, "webhook_id", "status", "next_at", "id"),
)
