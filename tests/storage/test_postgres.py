"""What only PostgreSQL can do wrong: broken connections, a second process, its own order of texts, its URL."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError

from executor.errors import Collision, CommitUnknown, DatabaseInUse, DatabaseOutdated, InvalidRequest, StorageError
from executor.settings import Settings
from executor.storage import migrate
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.identity import tenancy
from executor.storage.postgres import ownership, url
from executor.storage.postgres.server import PostgresServer
from tests.support import postgres
from tests.support.conditions import wait_for

END_SESSIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}' AND pid <> pg_backend_pid()"

LEFT_SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND pid <> pg_backend_pid()"


@pytest.fixture
def place() -> str:
    """The name of a database without rows."""
    return postgres.server().clear_shared()


@pytest.fixture
async def database(place: str) -> AsyncIterator[Database]:
    opened = await PostgresServer(postgres.server().url(place)).open()
    yield opened
    await opened.close()


def end_sessions(place: str) -> None:
    """As a restart of the server, a failover or a firewall does."""
    postgres.server().execute(END_SESSIONS.format(place))


async def write_event(database: Database, name: str) -> None:
    local = await database.write(tenancy.provision)
    await database.write(lambda c: events.append(c, local.workspace.id, name, {}))


async def read_events(database: Database) -> list[str]:
    local = await database.write(tenancy.provision)
    found = await database.read(lambda c: events.after(c, local.workspace.id))
    return [one.type for one in found]


async def test_a_connection_that_broke_while_nothing_happened_is_made_again(database: Database, place: str) -> None:
    await write_event(database, "before")
    await database.read(lambda c: None)
    end_sessions(place)
    await write_event(database, "after")
    assert await read_events(database) == ["before", "after"]
    end_sessions(place)
    assert await database.read(lambda c: c.execute(sa.text("SELECT 1")).scalar()) == 1


async def test_what_is_written_in_one_round_trip_is_not_sent_into_a_session_that_has_ended(
    database: Database, place: str
) -> None:
    local = await database.write(tenancy.provision)
    await write_event(database, "before")
    end_sessions(place)
    left = LEFT_SESSIONS.format(place)
    await asyncio.to_thread(wait_for, lambda: postgres.server().execute(left) == [(0,)], "every session has ended")
    await database.write(lambda c: events.append(c, local.workspace.id, "after", {}))
    assert await read_events(database) == ["before", "after"]


async def test_a_transaction_that_breaks_before_its_commit_is_run_once_more(database: Database, place: str) -> None:
    local = await database.write(tenancy.provision)
    tries: list[int] = []

    def job(c: Connection) -> None:
        events.append(c, local.workspace.id, "once", {})
        tries.append(1)
        if len(tries) == 1:
            end_sessions(place)
            c.execute(sa.text("SELECT 1"))

    others = [database.write(lambda c: events.append(c, local.workspace.id, "other", {})) for _ in range(3)]
    await asyncio.gather(database.write(job), *others)
    assert len(tries) == 2
    assert sorted(await read_events(database)) == ["once", "other", "other", "other"]


@pytest.mark.parametrize("has_happened", [True, False])
async def test_a_commit_without_an_answer_is_never_run_again(
    database: Database, place: str, has_happened: bool
) -> None:
    local = await database.write(tenancy.provision)
    runs: list[int] = []

    def lose(connection: Connection) -> None:
        if has_happened:
            connection.dialect.do_commit(connection.connection)
        end_sessions(place)
        if has_happened:  # else the COMMIT itself finds out
            connection.invalidate()
            raise OperationalError("COMMIT", {}, Exception("the answer is lost"), connection_invalidated=True)

    def job(c: Connection) -> None:
        runs.append(1)
        events.append(c, local.workspace.id, "once", {})
        if len(runs) == 1:
            event.listen(c, "commit", lose, once=True)

    with pytest.raises(CommitUnknown):
        await database.write(job)
    assert runs == [1]
    assert await read_events(database) == (["once"] if has_happened else [])


async def test_a_job_that_met_a_deadlock_is_run_again_in_its_order(database: Database) -> None:
    local = await database.write(tenancy.provision)
    runs: list[int] = []

    def job(c: Connection) -> None:
        runs.append(1)
        if len(runs) == 1:
            c.execute(sa.text("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40P01'; END $$"))
        events.append(c, local.workspace.id, "second", {})

    def append(name: str) -> Any:
        return database.write(lambda c: events.append(c, local.workspace.id, name, {}))

    await asyncio.gather(append("first"), database.write(job), append("third"))
    assert await read_events(database) == ["first", "second", "third"]

    def never(c: Connection) -> None:
        c.execute(sa.text("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$"))

    outcomes = await asyncio.gather(append("fourth"), database.write(never), append("fifth"), return_exceptions=True)
    assert [type(one) for one in outcomes] == [type(None), Collision, type(None)]


async def test_several_processes_share_a_database_and_no_schema_that_they_can_not_use_comes_meanwhile(
    database: Database, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownership, "TAKE_SECONDS", 0.0)
    server = PostgresServer(postgres.server().url(place))
    second = await server.open()
    await write_event(second, "of the second")
    await write_event(database, "of the first")
    assert await read_events(second) == ["of the second", "of the first"]
    await database.close()
    assert not server.migrate()
    with monkeypatch.context() as newer:
        raise_schema(newer)
        with pytest.raises(DatabaseInUse, match="can't use the new schema"):
            server.migrate()
    with pytest.raises(DatabaseInUse, match="another Executor process uses this database"), server.alone():
        pass
    await second.close()
    assert not server.migrate()


def raise_schema(newer: pytest.MonkeyPatch) -> None:
    """As in a version that no older one can run beside."""
    for name, value in (("HEAD", "9001"), ("USABLE_SINCE", "9001"), ("KNOWN", (*migrate.KNOWN, "9001"))):
        newer.setattr(migrate, name, value)


async def test_a_process_whose_database_was_migrated_meanwhile_reads_and_writes_nothing_more(
    database: Database, place: str
) -> None:
    await write_event(database, "before")
    run = postgres.server().execute
    run("UPDATE alembic_version SET version_num = '9999'", place)
    try:
        end_sessions(place)
        with pytest.raises(DatabaseOutdated):
            await write_event(database, "late")
        with pytest.raises(DatabaseOutdated):
            await database.read(lambda c: None)
    finally:
        run(f"UPDATE alembic_version SET version_num = '{migrate.HEAD}'", place)  # noqa: S608 - a word of ours


async def test_a_read_is_one_snapshot_and_writes_nothing(database: Database) -> None:
    local = await database.write(tenancy.provision)
    loop = asyncio.get_running_loop()

    def look(c: Connection) -> tuple[int, int]:
        before = events.newest(c, local.workspace.id)
        asyncio.run_coroutine_threadsafe(write_event(database, "meanwhile"), loop).result(60)
        return before, events.newest(c, local.workspace.id)

    before, after = await database.read(look)
    assert before == after
    with pytest.raises(StorageError, match="read-only"):
        await database.read(lambda c: events.append(c, local.workspace.id, "x", {}))


async def test_texts_are_in_the_order_of_their_bytes_whatever_the_database_says(database: Database) -> None:
    query = "SELECT count(*), count(*) FILTER (WHERE collation_name = 'C') FROM information_schema.columns"
    where = " WHERE table_schema = 'public' AND data_type IN ('text', 'character varying')"
    texts, by_bytes = await database.read(lambda c: tuple(c.execute(sa.text(query + where)).one()))
    assert texts == by_bytes > 200
    words = ["Shop.z", "shop-2", "shop.orders", "shop/", "shop_b", "z", "ä"]
    local = await database.write(tenancy.provision)
    for word in reversed(words):
        await database.write(lambda c, word=word: events.append(c, local.workspace.id, word, {}))  # type: ignore[misc]
    ordered = sa.select(events.events.c.type).order_by(events.events.c.type)
    assert list(await database.read(lambda c: c.execute(ordered).scalars().all())) == words


def test_the_migrations_order_texts_by_bytes_too() -> None:
    from executor.storage.postgres.engine import open_engine

    engine = open_engine(postgres.server().url(postgres.server().blank()))
    with engine.begin() as c:
        migrate.upgrade(c)
        query = (
            "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'public' AND collation_name IS NULL"
        )
        assert c.execute(sa.text(f"{query} AND data_type IN ('text', 'character varying')")).scalar() == 0
    engine.dispose()


@pytest.mark.parametrize("value", ["a\0b", "x" * 3])
async def test_a_text_with_nul_is_refused_as_a_wrong_request(database: Database, value: str) -> None:
    local = await database.write(tenancy.provision)
    write = database.write(lambda c: events.append(c, local.workspace.id, value, {"text": "a\0b"}))
    if "\0" not in value:  # in JSON it is escaped, and comes back
        await write
        [found] = await database.read(lambda c: events.after(c, local.workspace.id))
        assert found.data == {"text": "a\0b"}
        return
    with pytest.raises(InvalidRequest, match="NUL"):
        await write


async def test_a_number_that_is_too_large_is_refused_as_a_wrong_request(database: Database) -> None:
    local = await database.write(tenancy.provision)
    with pytest.raises(InvalidRequest):
        await database.read(lambda c: events.after(c, local.workspace.id, after=2**70))


def test_a_database_without_tables_is_not_opened_and_not_changed() -> None:
    server = PostgresServer(postgres.server().url(postgres.server().blank()))
    with pytest.raises(DatabaseOutdated, match="no tables"):
        server.check()
    assert server.is_empty() and server.revision() is None
    assert server.migrate() is True
    assert server.migrate() is False
    server.check()
    assert server.is_empty()


PASSWORD = "hunter2-canary"
WRONG = (
    f"postgresql://me:{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://me:a@{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://me:a/{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://me:a#{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://me:%zz{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://me@127.0.0.1:1/db?password={PASSWORD}",
    f"postgresql://me@127.0.0.1:1/db?passwort={PASSWORD}",
)


@pytest.mark.parametrize("address", WRONG)
def test_no_part_of_a_password_is_in_an_error_or_a_name(address: str) -> None:
    server = PostgresServer(address)
    assert PASSWORD not in repr(server)
    assert PASSWORD not in repr(Settings.load({"EXECUTOR_DATABASE_URL": address, "HOME": "/nonexistent"}))
    with pytest.raises((StorageError, InvalidRequest)) as caught:
        server.identify()
    shown = "".join(traceback.format_exception(caught.value))
    assert PASSWORD not in shown, shown
    try:
        assert PASSWORD not in url.address(address)
    except InvalidRequest as error:
        assert PASSWORD not in error.message


def test_nothing_of_it_is_imported_for_sqlite(tmp_path: Path) -> None:
    program = f"""
import asyncio, sys
from pathlib import Path
from executor.daemon.wiring import executor
from executor.storage.location import find
async def open_and_close():
    database = await find("", Path({str(tmp_path)!r})).open()
    await database.write(lambda c: None)
    await database.close()
asyncio.run(open_and_close())
found = [name for name in sys.modules if name.startswith(("psycopg", "executor.storage.postgres"))]
assert not found, found
"""
    subprocess.run([sys.executable, "-c", program], check=True)
