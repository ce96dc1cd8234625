"""Checkpoints made beside the writer."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from executor.storage.database import Database, checkpoint
from executor.storage.identity import tenancy
from executor.storage.migrate import ready


def in_the_file_itself(path: Path) -> int:
    """Read without the write-ahead log."""
    with sqlite3.connect(f"file:{path}?immutable=1", uri=True) as connection:
        rows = connection.execute("SELECT count(*) FROM workspaces").fetchone()[0]
    connection.close()
    return int(rows)


async def test_a_checkpoint_moves_what_was_written_into_the_file_without_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "data" / "executor.db"
    database = Database(ready(path))
    await database.read(checkpoint)
    before = in_the_file_itself(path)
    await database.write(tenancy.provision)
    assert in_the_file_itself(path) == before
    await database.read(checkpoint)
    assert in_the_file_itself(path) == before + 1
    await database.close()
