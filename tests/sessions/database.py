"""Databases for many small tests: made once, then copied."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from executor.storage import migrate
from executor.storage.database import Database, open_engine
from executor.storage.identity import tenancy


@cache
def template() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "executor.db"
        engine = open_engine(path)
        migrate.migrate(engine)
        with engine.connect().execution_options(writes=True) as c, c.begin():
            tenancy.provision(c)
        with engine.connect() as c:
            c.connection.driver_connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[union-attr]
        engine.dispose()
        return path.read_bytes()


def open_database(folder: Path) -> Database:
    """The one that is there, or else a new one."""
    folder.mkdir(exist_ok=True, mode=0o700)
    path = folder / "executor.db"
    if not path.exists():
        path.write_bytes(template())
    return Database(open_engine(path))
