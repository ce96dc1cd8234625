"""The contract suite's databases. Every repository test runs once for each; another engine joins by one more entry."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy.engine import Engine

from executor.storage import migrate
from executor.storage.database import Database, open_engine
from executor.storage.identity import tenancy
from executor.storage.identity.tenancy import Tenancy
from executor.storage.postgres import engine as postgres_engine
from executor.storage.postgres.server import PostgresServer
from tests.support import pgbouncer, postgres

ENGINES = ["sqlite", "postgresql"]
if os.environ.get("CONTRACT_PGBOUNCER"):  # by hand: as much again as on PostgreSQL
    ENGINES.append("pgbouncer")


@pytest.fixture(params=ENGINES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    if request.param == "sqlite":
        opened = Database(migrate.ready(tmp_path / "data" / "executor.db"))
    else:
        server = postgres.server()
        name = server.clear_shared()
        urls = [pgbouncer.url(pgbouncer.of_this_process(), name)] if request.param == "pgbouncer" else []
        opened = await PostgresServer(*urls, server.url(name)).open()
    yield opened
    await opened.close()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Of a database without tables."""
    if request.param == "sqlite":
        opened = open_engine(tmp_path / "executor.db")
    else:
        server = postgres.server()
        opened = postgres_engine.open_engine(server.url(server.blank()))
    yield opened
    opened.dispose()


@pytest.fixture
async def local(database: Database) -> Tenancy:
    return await database.write(tenancy.provision)
