"""Round trips to PostgreSQL, by libpq's own trace: the client waits for the server once for each Sync or Query."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sqlalchemy import event

from executor.storage.database import Database

ENDS = (b"\tSync\n", b"\tQuery\t")


class RoundTrips:
    """Of every session that `database` connects from now on."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._folder = folder / "traces"
        self._folder.mkdir()
        self._traced = 0
        event.listen(database.engine, "connect", self._trace)

    def _trace(self, raw: Any, record: Any) -> None:
        """libpq writes to the file for as long as the connection is there, so no one closes it."""
        self._traced += 1
        raw.pgconn.trace(os.open(self._folder / str(self._traced), os.O_CREAT | os.O_WRONLY))

    def count(self) -> int:
        return sum(file.read_bytes().count(end) for file in self._folder.iterdir() for end in ENDS)
