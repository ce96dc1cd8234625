from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection

from executor.errors import Busy, DataDirectoryUnusable, InvalidRequest, NewerDatabase, StorageDamaged, StorageError
from executor.storage import database as database_module
from executor.storage import migrate
from executor.storage.database import Database, open_engine
from executor.storage.executions import events
from executor.storage.identity import tenancy
from executor.storage.identity.tenancy import Tenancy
from executor.storage.location import sqlite_path
from executor.storage.tables.core import metadata
from tests.support.conditions import until


async def test_a_failing_job_is_undone_alone(database: Database, local: Tenancy) -> None:
    ws = local.workspace.id

    def good(c: Connection) -> None:
        events.append(c, ws, "good", {})

    def bad(c: Connection) -> None:
        events.append(c, ws, "bad", {})
        raise ValueError("on purpose")

    outcomes = await asyncio.gather(*(database.write(job) for job in (good, bad, good)), return_exceptions=True)
    assert [type(outcome).__name__ for outcome in outcomes] == ["NoneType", "ValueError", "NoneType"]
    found = await database.read(lambda c: events.after(c, ws))
    assert [event.type for event in found] == ["good", "good"]


async def test_a_job_that_fails_alone_leaves_nothing_and_the_writer_goes_on(database: Database, local: Tenancy) -> None:
    def bad(c: Connection) -> None:
        events.append(c, local.workspace.id, "bad", {})
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        await database.write(bad)
    with pytest.raises(sa.exc.IntegrityError):
        await database.write(lambda c: events.append(c, "ws_unknown", "bad", {}))
    await database.write(lambda c: events.append(c, local.workspace.id, "good", {}))
    found = await database.read(lambda c: events.after(c, local.workspace.id))
    assert [event.type for event in found] == ["good"]


async def test_jobs_are_committed_in_the_order_they_were_queued(database: Database, local: Tenancy) -> None:
    ws = local.workspace.id
    jobs = [database.write(lambda c, n=n: events.append(c, ws, "n", {"n": n})) for n in range(500)]  # type: ignore[misc]
    await jobs[-1]
    assert all(job.done() for job in jobs)
    found = await database.read(lambda c: events.after(c, ws, limit=500))
    assert [event.data["n"] for event in found] == list(range(500))


async def test_announcements_come_only_for_what_was_committed(database: Database, local: Tenancy) -> None:
    announced: list[str] = []
    database.on_events = lambda committed: announced.extend(item.type for item in committed)

    def bad(c: Connection) -> None:
        events.append(c, local.workspace.id, "bad", {})
        raise ValueError

    good = [database.write(lambda c: events.append(c, local.workspace.id, "good", {})) for _ in range(2)]
    await asyncio.gather(database.write(bad), *good, return_exceptions=True)
    assert announced == ["good", "good"]


@pytest.mark.parametrize("way", ["read", "search", "scan"])
@pytest.mark.parametrize("is_on_its_way", [False, True])
async def test_what_had_time_is_found_by_everyone_who_reads_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, is_on_its_way: bool
) -> None:
    """Whether it still waits for others to share its commit, or for a writer that is slow."""
    monkeypatch.setattr(database_module, "PATIENCE", 0.0 if is_on_its_way else 3600.0)
    database = Database(migrate.ready(tmp_path / "executor.db"))
    local = await database.write(tenancy.provision)
    ways: dict[str, Any] = {
        "read": database.read,
        "search": lambda job: database.search(job, 60.0),
        "scan": database.scan,
    }
    go_on = threading.Event()
    database.write(lambda c: go_on.wait(60))
    late = database.write(lambda c: events.append(c, local.workspace.id, "late", {}), is_urgent=False)
    await until(lambda: not is_on_its_way or not database._patient)
    reading = asyncio.ensure_future(ways[way](lambda c: events.after(c, local.workspace.id)))
    await asyncio.wait((reading,), timeout=0.1)
    assert not reading.done()
    go_on.set()
    assert [event.type for event in await reading] == ["late"]
    assert late.done()
    await database.close()


async def test_a_closed_database_says_so(database: Database) -> None:
    await database.close()
    with pytest.raises(StorageError, match="closed"):
        await database.write(lambda c: None)


async def test_the_database_is_durable_and_private(tmp_path: Path) -> None:
    database = Database(migrate.ready(tmp_path / "data" / "executor.db"))

    def pragmas(c: Connection) -> tuple[str, int, int]:
        values = [c.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
        return values[0], values[1], c.exec_driver_sql("PRAGMA foreign_keys").scalar()

    assert await database.read(pragmas) == ("wal", 2, 1)
    folder = tmp_path / "data"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = list(folder.iterdir())
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert any(file.name.endswith("-wal") for file in files)
    await database.close()


def open_upgraded(path: Path) -> sa.Engine:
    """A database that took every step of the migrations."""
    engine = open_engine(path)
    upgrade(engine)
    return engine


def upgrade(engine: sa.Engine) -> None:
    with engine.connect().execution_options(writes=True) as c, c.begin():
        migrate.upgrade(c)


def test_the_migrations_give_exactly_the_tables_of_the_code(engine: sa.Engine) -> None:
    def is_meant(item: Any, *_: object) -> bool:
        """Some indexes are only for PostgreSQL."""
        only = getattr(item, "_ddl_if", None)
        return only is None or only.dialect == engine.dialect.name

    upgrade(engine)
    with engine.connect() as c:
        context = MigrationContext.configure(c, opts={"include_object": is_meant})
        assert list(compare_metadata(context, metadata)) == []


def schema(engine: sa.Engine) -> dict[str, list[str]]:
    """Every table and index as SQL; the order of the constraints of a table and quotes around its name mean nothing."""
    with engine.connect() as c:
        rows = c.exec_driver_sql("SELECT type, name, sql FROM sqlite_master").all()
    engine.dispose()
    plain = {f"{kind} {name}": (sql or "").replace(f'"{name}"', name) for kind, name, sql in rows}
    parts = {name: " ".join(sql.split()).removesuffix(" )") for name, sql in plain.items()}
    return {name: sorted(sql.split(", CONSTRAINT ")) for name, sql in parts.items()}


def test_an_empty_database_becomes_what_the_migrations_would_have_made_of_it(tmp_path: Path) -> None:
    made = open_engine(tmp_path / "made.db")
    assert migrate.migrate(made) is True
    assert migrate.migrate(made) is False
    with made.connect() as c:
        assert migrate.current_revision(c) == migrate.HEAD
    assert schema(made) == schema(open_upgraded(tmp_path / "upgraded.db"))


def test_an_empty_database_is_made_without_the_migration_library(tmp_path: Path) -> None:
    program = f"""
import sys, pathlib
from executor.storage import database, migrate
engine = database.open_engine(pathlib.Path({str(tmp_path / "executor.db")!r}))
assert migrate.migrate(engine)
assert "alembic" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_known_revisions_are_those_of_the_migration_scripts() -> None:
    config = Config()
    config.set_main_option("script_location", str(migrate.MIGRATIONS))
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_current_head() == migrate.HEAD
    assert [script.revision for script in scripts.walk_revisions()] == [*reversed(migrate.KNOWN)]
    assert migrate.USABLE_SINCE in migrate.KNOWN


def test_a_database_of_a_newer_version_is_left_alone(engine: sa.Engine) -> None:
    migrate.migrate(engine)
    with engine.begin() as c:
        c.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(NewerDatabase, match="9999"):
        migrate.migrate(engine)


def test_a_file_that_is_no_database_is_reported_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "executor.db"
    path.write_bytes(b"this is not a database at all, but somebody's notes" * 50)
    engine = open_engine(path)
    with pytest.raises(StorageDamaged, match="not a database"):
        migrate.migrate(engine)
    engine.dispose()
    assert path.read_bytes().startswith(b"this is not")


def test_a_data_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataDirectoryUnusable, match="file"):
        migrate.prepare_file(tmp_path / "file" / "executor.db")


def test_a_database_url_this_version_cannot_use_is_refused(tmp_path: Path) -> None:
    assert sqlite_path("", tmp_path) == tmp_path / "executor.db"
    assert sqlite_path("sqlite:////somewhere/x.db", tmp_path) == Path("/somewhere/x.db")
    with pytest.raises(InvalidRequest, match="oracle"):
        sqlite_path("oracle://host/db", tmp_path)


async def test_searches_without_an_end_are_stopped_and_leave_readers_for_all_others(database: Database) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

    def search(c: Connection) -> None:
        c.exec_driver_sql(endless).fetchall()

    searches = [asyncio.ensure_future(database.search(search, 0.5)) for _ in range(5)]
    await asyncio.sleep(0)  # until they have begun
    answers = [await database.read(lambda c: c.exec_driver_sql("SELECT 1").scalar()) for _ in range(3)]
    assert answers == [1, 1, 1] and not any(one.done() for one in searches)
    outcomes = await asyncio.gather(*searches, return_exceptions=True)
    assert all(isinstance(one, Busy) for one in outcomes), outcomes
