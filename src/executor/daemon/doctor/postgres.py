"""Checks of a PostgreSQL database: version, rights, durability, latency, clock, schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from executor.daemon.doctor.check import Check

if TYPE_CHECKING:
    from executor.storage.postgres.inspection import Facts
    from executor.storage.postgres.server import PostgresServer

SLOW_MS = 20.0
SKEW_MS, WRONG_MS = 500.0, 30_000.0
MIGRATE = "run `executor db migrate`"


def check_postgres(server: PostgresServer) -> Iterator[Check]:
    """Raises ExecutorError if it can't be reached."""
    from executor.storage.postgres.inspection import inspect

    facts = server.read(inspect)
    if server.direct_url:
        server.check_direct()
    yield from _server(str(server), facts, has_direct_url=bool(server.direct_url))
    if "," in str(server):
        yield _failover(facts)
    yield _rights(facts)
    yield _latency(facts)
    yield _clock(facts)
    if not facts.refused_tables:
        schema = _schema(facts)
        yield schema
        if schema.status == "ok":
            yield from _commands(server)


def _server(name: str, facts: Facts, *, has_direct_url: bool) -> Iterator[Check]:
    from executor.storage.postgres.server import OLDEST

    settings = facts.settings
    message = f"{name}, version {settings['server_version'].split()[0]}"
    if int(settings["server_version_num"]) < OLDEST:
        yield Check("database", "failure", message, f"use PostgreSQL {OLDEST // 10_000} or newer")
    elif settings["server_encoding"] != "UTF8":
        yield Check("database", "failure", f"{message}, encoding {settings['server_encoding']}", "create it with UTF8")
    elif facts.is_standby:
        yield Check("database", "failure", f"{message} is a standby, which takes no writes", "connect to the primary")
    elif facts.has_pooler and not has_direct_url:
        hint = "set EXECUTOR_DATABASE_DIRECT_URL to the address of the server itself"
        yield Check("database", "failure", f"{message}, behind a pooler", hint)
    else:
        yield Check("database", "ok", f"{message}, behind a pooler" if facts.has_pooler else message)
    if settings["fsync"] != "on":
        hint = "set it to on: if the server's machine crashes, calls that were sent are forgotten, and sent again"
        yield Check("database durability", "warning", "fsync is off", hint)
    else:
        yield Check("database durability", "ok", "what is committed survives a crash of the server")


def _failover(facts: Facts) -> Check:
    names = facts.settings["synchronous_standby_names"]
    if not names:
        hint = "set synchronous_standby_names: else a failover may forget calls that were sent, and they are sent again"
        return Check("database failover", "warning", "no standby is synchronous", hint)
    return Check("database failover", "ok", f"synchronous standbys: {names}")


def _rights(facts: Facts) -> Check:
    if not facts.can_use_schema:
        return Check("database rights", "failure", "no right to use the schema", "GRANT USAGE ON SCHEMA … TO the user")
    if facts.refused_tables:
        message = f"no right to read and write {', '.join(facts.refused_tables[:3])}"
        return Check("database rights", "failure", message, "grant SELECT, INSERT, UPDATE and DELETE on all its tables")
    if not facts.can_create:
        message = "reads and writes all tables, but can't create any"
        return Check("database rights", "ok", f"{message}: another user must run `executor db migrate`")
    return Check("database rights", "ok", "reads, writes and creates tables")


def _latency(facts: Facts) -> Check:
    message = f"{facts.latency_ms:.1f} ms for a round trip"
    if facts.latency_ms > SLOW_MS:
        hint = "bring the daemon and the server closer: every call waits for several round trips"
        return Check("database latency", "warning", message, hint)
    return Check("database latency", "ok", message)


def _clock(facts: Facts) -> Check:
    apart = abs(facts.ahead_ms)
    message = f"{apart:,.0f} ms apart from this machine's"
    if apart > WRONG_MS:
        return Check("database clock", "failure", message, "set both clocks by NTP")
    if apart > SKEW_MS:
        return Check("database clock", "warning", message, "set both clocks by NTP")
    return Check("database clock", "ok", message)


def _commands(server: PostgresServer) -> Iterator[Check]:
    """Of sources that were added before other processes were."""
    from executor.storage.catalog.sources import with_commands
    from executor.storage.executions.segments import is_shared

    found, shared = server.read(with_commands), server.read(is_shared)
    if found and shared:
        named = f"{', '.join(found[:5])}{' and others' if len(found) > 5 else ''}"
        hint = (
            "serve each over HTTP with `executor mcp-host`, and add its address; leave it if the command keeps nothing "
            "and is installed on every machine"
        )
        yield Check("shared commands", "warning", f"each process starts the commands of {named} for itself", hint)


def _schema(facts: Facts) -> Check:
    from executor.storage.migrate import HEAD, KNOWN
    from executor.storage.postgres.server import COPYING

    if facts.revision == HEAD:
        return Check("schema", "ok", f"{HEAD} is this version's")
    if facts.revision is None:
        return Check("schema", "failure", "the database has no tables of Executor", MIGRATE)
    if facts.revision == COPYING:
        hint = "run `executor db copy` again: it continues"
        return Check("schema", "failure", "a copy into this database is not complete", hint)
    if facts.revision in KNOWN:
        return Check("schema", "failure", f"{facts.revision} is older than this version's {HEAD}", MIGRATE)
    if facts.can_use_revision:
        return Check("schema", "ok", f"{facts.revision} is newer than this version's {HEAD}, which can use it")
    hint = "install the newer Executor again, or use another database"
    return Check("schema", "failure", f"{facts.revision} is newer than this version's {HEAD}", hint)
