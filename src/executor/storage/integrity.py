"""Whether a database file can be trusted before anything opens it for writing.

Read only and by the driver itself: a damaged file must neither be changed nor be hidden behind another error.
"""

from __future__ import annotations

import asyncio
import math
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import field
from pathlib import Path

from executor.dataclass import dataclass
from executor.errors import StorageDamaged

WHOLE_BYTES = 8 * 1024 * 1024  # a file up to this size is checked whole at every start
SAMPLES = 64
NICENESS = 15
LARGE = ("executions", "calls", "events", "interactions", "artifacts", "chunks")
RESTORE = "restore a backup of it, or move it away and run `executor up --new`; see docs/backup.md"
# What SQLite says when the file itself is wrong, and not the request.
DAMAGE = ("disk image is malformed", "malformed database schema", "not a database", "unsupported file format")

Head = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose database it is: the organization of its first start, and the last event of each workspace."""

    organization_id: str
    heads: dict[str, Head] = field(default_factory=dict)


def is_damage(error: object) -> bool:
    return any(word in str(error) for word in DAMAGE)


def damage_error(what: object, path: Path | None = None) -> StorageDamaged:
    return StorageDamaged(f"the database file{f' {path}' if path else ''} is damaged: {what}", hint=RESTORE)


def identify(path: Path) -> Identity | None:
    """None for a file without a first start in it."""
    with reading(path) as c:
        tables = {row[0] for row in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "organizations" not in tables:
            return None
        first = c.execute("SELECT id FROM organizations ORDER BY id LIMIT 1").fetchone()
        if first is None:
            return None
        return Identity(first[0], _heads(c) if "chains" in tables else {})


def has_event(path: Path, workspace_id: str, head: Head) -> bool:
    """Whether this very event is still in the log."""
    query = "SELECT seal FROM events WHERE id = ? AND workspace_id = ?"
    with reading(path) as c:
        return bool(c.execute(query, (head[0], workspace_id)).fetchone() == (head[1],))


def check(path: Path) -> None:
    """Raise if it is damaged. A large file is looked at in places, so that the cost of a start has a bound."""
    with reading(path) as c:
        if path.stat().st_size <= WHOLE_BYTES:
            found = c.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if found != "ok":
                raise damage_error(found, path)
            return
        for table, index in _tables(c):
            _sample(c, table, index)


def check_all(path: Path, seconds: float = math.inf) -> tuple[str, list[str]]:
    """What is wrong, empty if nothing; and which tables were not begun when the time was up, the largest last.

    Table by table, so that no reader is in the way of a checkpoint for long.
    """
    end = time.monotonic() + seconds
    with reading(path) as c:
        names = sorted({table for table, _ in _tables(c)}, key=lambda name: name in LARGE)
        for number, name in enumerate(names):
            if time.monotonic() > end:
                return "", names[number:]
            found = c.execute(f"PRAGMA quick_check('{name}')").fetchone()[0]
            if found != "ok":
                return found, []
    return "", []


async def in_background(path: Path) -> str:
    """`check_all` in a thread that gives way to all others, and that no one waits for when the process ends."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[str] = loop.create_future()

    def settle(text: str) -> None:
        if not found.done():
            found.set_result(text)

    def run() -> None:
        if sys.platform == "linux":  # elsewhere it would be the whole process
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        try:
            text = "" if path.stat().st_size <= WHOLE_BYTES else check_all(path)[0]
        except (StorageDamaged, sqlite3.Error, OSError) as error:
            text = str(error) if isinstance(error, StorageDamaged) else ""
        with suppress(RuntimeError):  # the loop may be gone
            loop.call_soon_threadsafe(settle, text)

    threading.Thread(target=run, name="integrity", daemon=True).start()
    return await found


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=30.0)) as connection:
            yield connection
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            raise damage_error(error, path) from error
        raise


def _heads(c: sqlite3.Connection) -> dict[str, Head]:
    return {row[0]: (row[1], row[2]) for row in c.execute("SELECT workspace_id, event_id, seal FROM chains")}


def _tables(c: sqlite3.Connection) -> list[tuple[str, str | None]]:
    """Every table, once alone and once for each of its indexes."""
    query = "SELECT tbl_name, CASE type WHEN 'index' THEN name END FROM sqlite_master WHERE type IN ('table', 'index')"
    return [(row[0], row[1]) for row in c.execute(query) if not row[0].startswith("sqlite_")]


def _sample(c: sqlite3.Connection, table: str, index: str | None) -> None:
    """The oldest and the newest rows whole and, of a large table, some in between."""
    by = f"INDEXED BY {index}" if index else "NOT INDEXED"
    columns = _columns(c, index) if index else ["rowid"]
    where = _condition(c, index) if index else ""
    for direction in ("ASC", "DESC"):
        order = ", ".join(f"{column} {direction}" for column in columns)  # of each: else everything would be sorted
        c.execute(f"SELECT * FROM {table} {by} {where} ORDER BY {order} LIMIT {SAMPLES}").fetchall()  # noqa: S608
    last = c.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0]  # noqa: S608
    if index is None and last and table in LARGE:
        query = f"SELECT * FROM {table} WHERE rowid >= ? LIMIT 1"  # noqa: S608
        for place in range(1, last, max(1, last // SAMPLES)):
            c.execute(query, (place,)).fetchall()


def _columns(c: sqlite3.Connection, index: str) -> list[str]:
    return [row[2] for row in c.execute(f"PRAGMA index_info('{index}')") if row[2]]


def _condition(c: sqlite3.Connection, index: str) -> str:
    """Of a partial index: it can't be used without it."""
    (statement,) = c.execute("SELECT sql FROM sqlite_master WHERE name = ?", (index,)).fetchone()
    _, where, condition = (statement or "").partition(" WHERE ")
    return f"{where}{condition}"
