"""`executor db copy`: everything arrives, what was interrupted continues, and half a copy is never opened."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from executor.errors import Conflict, DatabaseOutdated, InvalidRequest
from executor.storage import migrate
from executor.storage.database import Database, open_engine
from executor.storage.executions import artifacts, calls, event_chain, events, executions
from executor.storage.identity import tenancy
from executor.storage.location import SqliteFile
from executor.storage.postgres import sqlite_copy
from executor.storage.postgres.server import PostgresServer
from executor.storage.start_log import StartLog
from executor.storage.tables.core import metadata
from tests.storage.test_artifacts import CONTENT, an_artifact
from tests.storage.test_contract import a_call, an_execution
from tests.support import postgres


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "executor.db"
    asyncio.run(fill(path))
    return path


@pytest.fixture
def server() -> PostgresServer:
    return PostgresServer(postgres.server().url(postgres.server().blank()))


async def fill(path: Path) -> None:
    database = Database(migrate.ready(path))
    local = await database.write(tenancy.provision)
    for number in range(3):
        execution = an_execution(local, code=f"return {number} // é 🦀")

        def write(c: sa.Connection, execution: Any = execution) -> None:
            executions.insert(c, execution)
            calls.insert(c, [a_call(execution, seq) for seq in range(1, 40)])
            artifacts.add(c, an_artifact(execution.id, local), CONTENT)
            artifacts.add(c, an_artifact(execution.id, local, name="in-the-store.bin", object_key="ws/key"), CONTENT)
            events.append(c, local.workspace.id, "execution.created", {"n": "a\0b"}, execution.id)

        await database.write(write)
    await database.close()


async def note_start(source: Path) -> None:
    database = Database(open_engine(source))
    local = await database.write(tenancy.provision)
    log = StartLog(SqliteFile(source).start_log)
    written = log.add(an_execution(local))
    assert written is not None
    await written
    await database.close()
    log.close()


def test_what_was_reported_and_not_yet_committed_is_not_left_behind(source: Path, server: PostgresServer) -> None:
    asyncio.run(note_start(source))
    with pytest.raises(DatabaseOutdated, match="not in the SQLite database yet"):
        sqlite_copy.copy(source, server)


def rows_of(engine: sa.Engine) -> dict[str, list[Any]]:
    with engine.connect() as c:
        every = {table.name: [tuple(row) for row in c.execute(sa.select(table))] for table in metadata.sorted_tables}
    engine.dispose()
    return {name: sorted(rows, key=repr) for name, rows in every.items()}


def rows_in(server: PostgresServer) -> dict[str, list[Any]]:
    from executor.storage.postgres.engine import open_engine

    return rows_of(open_engine(server.url))


class Stopped(Exception):
    """In the middle of a copy."""


@pytest.mark.parametrize("stops", [0, 4])
async def test_a_copy_has_every_row_and_a_whole_audit_log(source: Path, server: PostgresServer, stops: int) -> None:
    """Also if it was stopped again and again."""
    batches: list[str] = []

    def progress(table: str, done: int, of: int) -> None:
        batches.append(table)
        if len(batches) <= stops:
            raise Stopped

    for _ in range(stops):
        with pytest.raises(Stopped):
            await asyncio.to_thread(sqlite_copy.copy, source, server, progress)
        with pytest.raises(DatabaseOutdated, match="not complete"):
            server.check()
        with pytest.raises(DatabaseOutdated, match="not complete"):
            server.migrate()
    counts = await asyncio.to_thread(sqlite_copy.copy, source, server, progress)
    assert counts["calls"] == 3 * 39 and counts["chunks"] == 3 * 4
    assert rows_in(server) == rows_of(open_engine(source))
    database = await server.open()
    local = await database.write(tenancy.provision)
    found = await database.read(lambda c: artifacts.page(c, local.workspace.id))
    assert {one.object_key for one in found} == {None, "ws/key"}
    await database.write(lambda c: events.append(c, local.workspace.id, "later", {}))
    report = await database.read(lambda c: event_chain.verify(c, local.workspace.id))
    assert (report.problem, report.events) == ("", 4)
    await database.close()


def test_a_copy_is_not_continued_from_another_source_and_not_made_over_anything(
    source: Path, server: PostgresServer
) -> None:
    def stop(table: str, done: int, of: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        sqlite_copy.copy(source, server, stop)
    engine = open_engine(source)
    with engine.begin() as c:
        c.exec_driver_sql("DELETE FROM calls WHERE seq = 39")
    engine.dispose()
    with pytest.raises(Conflict, match="the source has changed"):
        sqlite_copy.copy(source, server)
    postgres.server().blank()
    sqlite_copy.copy(source, server)
    with pytest.raises(Conflict, match="not empty"):
        sqlite_copy.copy(source, server)


def test_what_differs_after_all_is_found_and_the_copy_is_not_opened(
    source: Path, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = sqlite_copy.insert

    def change(target: sa.Connection, table: sa.Table, rows: list[dict[str, Any]]) -> None:
        changed = [{**row, "data": '{"n":"x"}'} for row in rows] if table.name == "events" else rows
        insert(target, table, changed)

    monkeypatch.setattr(sqlite_copy, "insert", change)
    with pytest.raises(Exception, match="audit log"):
        sqlite_copy.copy(source, server)
    with pytest.raises(DatabaseOutdated):
        server.check()


def test_a_text_that_postgresql_can_not_have_is_named(source: Path, server: PostgresServer) -> None:
    engine = open_engine(source)
    with engine.begin() as c:
        c.exec_driver_sql("UPDATE executions SET code = 'a' || char(0)")
    engine.dispose()
    with pytest.raises(InvalidRequest, match=r"executions.*NUL"):
        sqlite_copy.copy(source, server)
