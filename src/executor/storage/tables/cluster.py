"""Tables of several processes on one PostgreSQL database. SQLite has them too, empty."""

from __future__ import annotations

import sqlalchemy as sa

from executor.storage.tables.core import metadata

# The processes that share the database, by the server's clock. `place` is the same for a process and for the next one
# with its lock file. A row that is dead stays until nothing is owned by it.
workers = sa.Table(
    "workers",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("host", sa.String, nullable=False),
    sa.Column("role", sa.String, nullable=False),
    sa.Column("place", sa.String, nullable=False),
    sa.Column("version", sa.String, nullable=False),
    sa.Column("lease_seconds", sa.Integer, nullable=False),
    sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("dead_at", sa.DateTime(timezone=True)),
)

# Rises with every change of what decides whether a call may be sent: policies, sources, connections, secrets, access.
guards = sa.Table(
    "guards",
    metadata,
    sa.Column("organization_id", sa.String, primary_key=True),
    sa.Column("revision", sa.BigInteger, nullable=False),
)
