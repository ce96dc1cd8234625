"""Facts about a PostgreSQL server and the rights of its user, for `executor doctor` and `executor db check`."""

from __future__ import annotations

import statistics
import time

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.storage import migrate
from executor.storage.postgres import compatibility
from executor.storage.postgres.ownership import raw, session_of
from executor.storage.tables.core import metadata

PROBES = 5
_SETTINGS = "server_version", "server_version_num", "server_encoding", "fsync", "synchronous_standby_names"
_SCHEMA = sa.text(
    "SELECT coalesce(has_schema_privilege(current_schema(), 'USAGE'), false),"
    " coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)"
)
_TABLES = sa.text(
    "SELECT tablename, has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename),"
    " 'SELECT, INSERT, UPDATE, DELETE') AS usable FROM pg_tables WHERE schemaname = current_schema()"
)


@dataclass(frozen=True, slots=True)
class Facts:
    """`ahead_ms` is how far its clock is ahead of ours, as exactly as one round trip allows."""

    settings: dict[str, str]
    revision: str | None
    can_use_revision: bool
    is_standby: bool
    has_pooler: bool
    can_use_schema: bool
    can_create: bool
    refused_tables: tuple[str, ...]
    latency_ms: float
    ahead_ms: float


def inspect(c: Connection) -> Facts:
    settings = {name: str(c.execute(sa.text(f"SHOW {name}")).scalar_one()) for name in _SETTINGS}
    can_use, can_create = c.execute(_SCHEMA).one()
    own = {table.name for table in metadata.sorted_tables} | {migrate.VERSION.name}
    refused = tuple(sorted(row.tablename for row in c.execute(_TABLES) if row.tablename in own and not row.usable))
    revision = migrate.current_revision(c) if not refused else None
    latency, ahead = _measure(c)
    return Facts(
        settings=settings,
        revision=revision,
        can_use_revision=compatibility.can_use(c, revision),
        is_standby=bool(c.execute(sa.text("SELECT pg_is_in_recovery()")).scalar_one()),
        has_pooler=session_of(c) != raw(c).info.backend_pid,
        can_use_schema=can_use,
        can_create=can_create,
        refused_tables=refused,
        latency_ms=latency,
        ahead_ms=ahead,
    )


def _measure(c: Connection) -> tuple[float, float]:
    """Both in milliseconds, of the fastest of some round trips or their median."""
    probes = []
    for _ in range(PROBES):
        began, clock = time.perf_counter(), time.time()
        there = float(c.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())::float8")).scalar_one())
        took = time.perf_counter() - began
        probes.append((took * 1000, (there - clock - took / 2) * 1000))
    return statistics.median(took for took, _ in probes), min(probes)[1]
