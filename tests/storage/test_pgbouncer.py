"""Through PgBouncer in transaction mode, where the next transaction may run in any session of the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from executor.daemon.doctor.postgres import check_postgres
from executor.errors import DatabaseInUse, DatabaseOutdated, InvalidRequest, StorageError
from executor.storage import migrate
from executor.storage.database import Database
from executor.storage.executions import event_chain, events
from executor.storage.feed import Feed
from executor.storage.identity import tenancy
from executor.storage.location import find
from executor.storage.postgres import ownership
from executor.storage.postgres.server import PostgresServer
from tests.support import pgbouncer, postgres
from tests.support.conditions import until

END_LOCKS = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"


@pytest.fixture(scope="module")
def pooler() -> Iterator[Path]:
    with pgbouncer.running_pgbouncer(postgres.server()) as folder:
        yield folder


@pytest.fixture
def server(pooler: Path) -> PostgresServer:
    """A database without rows, by both ways."""
    name = postgres.server().clear_shared()
    return PostgresServer(pgbouncer.url(pooler, name), postgres.server().url(name))


@pytest.fixture
async def pair(server: PostgresServer) -> AsyncIterator[tuple[Database, Database]]:
    """Of two processes."""
    opened = [await server.open() for _ in range(2)]
    yield opened[0], opened[1]
    for database in opened:
        await database.close()


async def test_transactions_of_two_processes_in_shared_sessions_are_whole_and_in_order(
    pair: tuple[Database, Database],
) -> None:
    local = await pair[0].write(tenancy.provision)

    async def write_and_read(database: Database, number: int) -> None:
        await database.write(lambda c: events.append(c, local.workspace.id, f"event.{number}", {}))
        await asyncio.gather(*(database.read(lambda c: events.newest(c, local.workspace.id)) for _ in range(3)))

    await asyncio.gather(*(write_and_read(pair[number % 2], number) for number in range(40)))
    found = await pair[1].read(lambda c: events.after(c, local.workspace.id))
    assert sorted(one.type for one in found) == sorted(f"event.{number}" for number in range(40))
    own = [[one.type for one in found if int(one.type[6:]) % 2 == n] for n in range(2)]
    assert own == [[f"event.{number}" for number in range(n, 40, 2)] for n in range(2)]
    report = await pair[0].read(lambda c: event_chain.verify(c, local.workspace.id))
    assert report.problem == ""


async def test_every_transaction_has_its_limits_and_leaves_none_to_others(pair: tuple[Database, Database]) -> None:
    def limits(c: sa.Connection) -> tuple[str, str]:
        names = sa.text(
            "SELECT current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout')"
        )
        return tuple(c.execute(names).one())  # type: ignore[return-value]

    assert await pair[0].read(limits) == ("15s", "5min")
    assert await pair[0].write(limits) == ("15s", "10s")
    with pytest.raises(StorageError, match="read-only"):
        await pair[0].read(lambda c: events.append(c, "ws_x", "x", {}))


async def test_a_process_hears_of_what_another_has_committed(pair: tuple[Database, Database]) -> None:
    feeds = [Feed(database) for database in pair]
    for feed in feeds:
        await feed.join()
    try:
        local = await pair[0].write(tenancy.provision)
        heard: list[str] = []
        feeds[1].listen(lambda announced: heard.append(announced.type))
        await until(lambda: announce(pair[0], local.workspace.id, heard), "the other process hears of it")
    finally:
        for feed in feeds:
            await feed.leave()


async def announce(database: Database, workspace_id: str, heard: list[str]) -> bool:
    """Again and again, since the other may not listen yet."""
    await database.write(lambda c: events.append(c, workspace_id, "policy.added", {}))
    return "policy.added" in heard


async def test_no_one_has_the_database_alone_while_a_process_lives_and_it_writes_nothing_into_another_schema(
    server: PostgresServer, pair: tuple[Database, Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownership, "TAKE_SECONDS", 0.0)
    with pytest.raises(DatabaseInUse, match="another Executor process uses this database"), server.alone():
        pass
    local = await pair[0].write(tenancy.provision)
    run, name = postgres.server().execute, server.direct_url.partition("?")[0].rpartition("/")[2]
    run(END_LOCKS, name)  # nothing reports that to the processes
    run("UPDATE alembic_version SET version_num = '9999'", name)
    try:
        with pytest.raises(DatabaseOutdated, match="9999"):
            await pair[0].write(lambda c: events.append(c, local.workspace.id, "late", {}))
        with pytest.raises(DatabaseOutdated):
            await pair[0].read(lambda c: None)
    finally:
        run(f"UPDATE alembic_version SET version_num = '{migrate.HEAD}'", name)  # noqa: S608 - a word of ours


async def test_urls_that_can_not_work_are_refused_with_the_setting_to_use(
    server: PostgresServer, pooler: Path, tmp_path: Path
) -> None:
    alone, doubled = PostgresServer(server.url), PostgresServer(server.url, server.url)
    for refused in (alone, doubled):
        with pytest.raises((StorageError, InvalidRequest), match="leads to a pooler") as caught:
            await refused.open()
        assert "EXECUTOR_DATABASE_DIRECT_URL" in str(caught.value.hint)
    elsewhere = PostgresServer(server.url, postgres.server().url(postgres.server().create_migrated()))
    with pytest.raises(InvalidRequest, match="lead to different databases"):
        await elsewhere.open()
    with pytest.raises(InvalidRequest, match="EXECUTOR_DATABASE_DIRECT_URL is not"):
        find(server.url, tmp_path, "sqlite:////x")


def test_the_doctor_accepts_a_pooler_with_a_direct_url(server: PostgresServer) -> None:
    checks = list(check_postgres(server))
    assert {check.name: check.status for check in checks}["database"] == "ok"
    assert "behind a pooler" in checks[0].message
    with pytest.raises((StorageError, InvalidRequest), match="leads to a pooler"):
        list(check_postgres(PostgresServer(server.url, server.url)))
