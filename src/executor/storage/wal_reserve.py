"""Room for SQLite's write-ahead log, reserved before it is needed.

A commit that makes the log longer waits for the file system to record the new length as well. In a log that is long
enough, it only waits for the bytes. See docs/decisions/reserved-log.md.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from executor.storage.database import CHECKPOINT_PAGES, Database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection

FRAME = 4096 + 24  # a page and its header
RESERVED = (CHECKPOINT_PAGES + 200) * FRAME  # a checkpoint runs after the commit that exceeds its number of pages
PIECE = 1024 * 1024
FREE = 64 * RESERVED  # a disk with less is left alone


async def reserve(database: Database, path: Path, length: int = RESERVED) -> None:
    """Make the log of the database at `path` this long. Commits continue meanwhile.

    Zeros are no frame of the log, so SQLite reads it only as far as it was written.
    """
    log = path.with_name(f"{path.name}-wal")
    with suppress(OSError):  # a full disk: the log grows as it is needed, or not at all
        while shutil.disk_usage(path.parent).free > FREE and await database.write(partial(_extend, log, length)):
            await asyncio.to_thread(_sync, log)


def _extend(log: Path, length: int, c: Connection) -> bool:
    """By one piece, in a transaction of the writer: no one else writes to the log meanwhile. False if it is done."""
    with _open_log(log) as file:
        end = os.fstat(file).st_size
        piece = min(PIECE, length - end)
        if piece > 0:
            os.pwrite(file, bytes(piece), end)
    return piece > 0


def _sync(log: Path) -> None:
    """Else the next commit would wait for all of it."""
    with _open_log(log) as file:
        os.fdatasync(file)


@contextmanager
def _open_log(log: Path) -> Iterator[int]:
    file = os.open(log, os.O_WRONLY)
    try:
        yield file
    finally:
        os.close(file)
