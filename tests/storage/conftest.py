"""The contract suite's databases. Every repository test runs once for each; another engine joins by one more entry."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from executor.storage import migrate
from executor.storage.database import Database
from executor.storage.identity import tenancy
from executor.storage.identity.tenancy import Tenancy

ENGINES = ["sqlite"]


@pytest.fixture(params=ENGINES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(migrate.ready(tmp_path / "data" / "executor.db"))
    yield opened
    await opened.close()


@pytest.fixture
async def local(database: Database) -> Tenancy:
    return await database.write(tenancy.provision)
