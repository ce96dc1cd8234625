"""Tables of model keys, and of what sessions used with them. Money is in nanodollars."""

from __future__ import annotations

import sqlalchemy as sa

from executor.model.sessions.model_usage import USAGE_FIELDS
from executor.storage.tables.core import metadata, partial_index, workspace_column

OPEN = sa.text("state = 'open'")


def usage_columns() -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger, nullable=False, default=0) for name in USAGE_FIELDS]


# `actor_id` is empty for the key that the whole workspace shares.
model_keys = sa.Table(
    "model_keys",
    metadata,
    sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), primary_key=True),
    sa.Column("provider", sa.String, primary_key=True),
    sa.Column("actor_id", sa.String, primary_key=True),
    sa.Column("secret_id", sa.String, nullable=False),
    sa.Column("created_by", sa.String, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

model_requests = sa.Table(
    "model_requests",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    workspace_column(),
    sa.Column("session_id", sa.String, nullable=False),
    sa.Column("actor_id", sa.String, nullable=False),
    sa.Column("provider", sa.String, nullable=False),
    sa.Column("model", sa.String, nullable=False),
    sa.Column("endpoint", sa.String, nullable=False),
    sa.Column("state", sa.String, nullable=False),
    sa.Column("reserved", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.BigInteger, nullable=False),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("started_at", sa.BigInteger, nullable=False),
    sa.Column("finished_at", sa.BigInteger),
    *usage_columns(),
    sa.Index(None, "workspace_id", "session_id", "id"),
    partial_index("ix_model_requests_open", "id", where=OPEN),
)

# Of a session (`period` is empty), or of a user on one day. What is reserved is not spent yet, but can't be promised
# to another request.
model_totals = sa.Table(
    "model_totals",
    metadata,
    sa.Column("workspace_id", sa.String, sa.ForeignKey("workspaces.id"), primary_key=True),
    sa.Column("scope", sa.String, primary_key=True),
    sa.Column("owner_id", sa.String, primary_key=True),
    sa.Column("period", sa.String, primary_key=True),
    sa.Column("requests", sa.BigInteger, nullable=False),
    sa.Column("reserved", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.BigInteger, nullable=False),
    *usage_columns(),
)
