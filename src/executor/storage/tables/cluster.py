"""Tables of several processes on one PostgreSQL database. SQLite has them too, empty."""

from __future__ import annotations

import sqlalchemy as sa

from executor.storage.tables.core import metadata, workspace_column

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

# The search index of a source as one process has built it, in parts, for the others. Part -1 says who builds: it has no
# data, and counts for as long as it is renewed. `version` is of the code that builds: another one can't read it.
search_segments = sa.Table(
    "search_segments",
    metadata,
    workspace_column(),
    sa.Column("source_id", sa.String, primary_key=True),
    sa.Column("generation", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("version", sa.String, primary_key=True),
    sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.Column("written_at", sa.DateTime(timezone=True), nullable=False),
)
