"""The databases that contract suites run on. Another engine joins by one more entry."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from executor.storage import migrate
from executor.storage.database import Database
from executor.storage.postgres.server import PostgresServer
from tests.support import pgbouncer, postgres

ENGINES = ["sqlite", "postgresql"]
if os.environ.get("CONTRACT_PGBOUNCER"):  # by hand: as much again as on PostgreSQL
    ENGINES.append("pgbouncer")


@asynccontextmanager
async def open_database(engine: str, folder: Path) -> AsyncIterator[Database]:
    if engine == "sqlite":
        opened = Database(migrate.ready(folder / "data" / "executor.db"))
    else:
        server = postgres.server()
        name = server.clear_shared()
        urls = [pgbouncer.url(pgbouncer.of_this_process(), name)] if engine == "pgbouncer" else []
        opened = await PostgresServer(*urls, server.url(name)).open()
    try:
        yield opened
    finally:
        await opened.close()
