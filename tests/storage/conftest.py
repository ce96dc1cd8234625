"""The contract suite's databases. Every repository test runs once for each; another engine joins by one more entry."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy.engine import Engine

from executor.storage.database import Database, open_engine
from executor.storage.identity import tenancy
from executor.storage.identity.tenancy import Tenancy
from executor.storage.postgres import engine as postgres_engine
from tests.support import postgres
from tests.support.databases import ENGINES, open_database


@pytest.fixture(params=ENGINES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(request.param, tmp_path) as opened:
        yield opened


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
