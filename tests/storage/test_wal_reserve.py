"""The log of SQLite is as long as it gets before it is needed, and nothing of that is ever read as data."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.storage import wal_reserve
from executor.storage.database import Database, open_engine


async def open_database(path: Path) -> Database:
    database = Database(open_engine(path))
    await database.write(lambda c: c.execute(sa.text("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT)")))
    return database


def add(c: Connection) -> None:
    c.execute(sa.text("INSERT INTO things (name) VALUES ('a thing')"))


def count(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        found: tuple[int] = connection.execute("SELECT count(*) FROM things").fetchone()
    connection.close()
    return found[0]


def copy_as_a_crash_leaves_it(path: Path, to: Path) -> Path:
    to.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", to / f"{path.name}{suffix}")
    return to / path.name


async def test_commits_no_longer_make_the_log_longer(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    log = tmp_path / "things.db-wal"
    database = await open_database(path)
    await wal_reserve.reserve(database, path)
    assert log.stat().st_size == wal_reserve.RESERVED
    for _ in range(300):
        await database.write(add)
    assert log.stat().st_size == wal_reserve.RESERVED
    await database.close()
    assert count(path) == 300
    assert not log.exists()


@pytest.mark.parametrize("before", [0, 1, 50])
async def test_what_was_committed_before_and_after_survives_a_crash(tmp_path: Path, before: int) -> None:
    path = tmp_path / "things.db"
    database = await open_database(path)
    for _ in range(before):
        await database.write(add)
    await wal_reserve.reserve(database, path)
    for _ in range(20):
        await database.write(add)
    crashed = copy_as_a_crash_leaves_it(path, tmp_path / "crashed")
    assert count(crashed) == before + 20
    await database.close()


async def test_a_log_that_begins_again_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    database = await open_database(path)
    await wal_reserve.reserve(database, path)
    for _ in range(5):
        await database.write(add)
    await database.scan(lambda c: c.exec_driver_sql("PRAGMA wal_checkpoint(RESTART)").fetchall())
    for _ in range(5):
        await database.write(add)
    assert (tmp_path / "things.db-wal").stat().st_size == wal_reserve.RESERVED
    assert count(copy_as_a_crash_leaves_it(path, tmp_path / "crashed")) == 10
    await database.close()


async def test_a_disk_with_little_room_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "things.db"
    database = await open_database(path)
    before = (tmp_path / "things.db-wal").stat().st_size
    monkeypatch.setattr(wal_reserve, "FREE", shutil.disk_usage(tmp_path).total)
    await wal_reserve.reserve(database, path)
    assert (tmp_path / "things.db-wal").stat().st_size == before
    await database.close()
