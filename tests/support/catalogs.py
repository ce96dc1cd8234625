"""A catalog on a real database of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from executor.catalog.catalog import Catalog
from executor.sources.kind import Kind
from executor.storage.database import Database
from executor.storage.identity import tenancy
from executor.storage.migrate import ready


@dataclass
class OpenCatalog:
    database: Database
    catalog: Catalog
    workspace: str


@asynccontextmanager
async def open_catalog(directory: Path, kinds: Mapping[str, Kind]) -> AsyncIterator[OpenCatalog]:
    database = Database(ready(directory / "data" / "executor.db"))
    local = await database.write(tenancy.provision)
    catalog = Catalog(database, kinds)
    try:
        yield OpenCatalog(database, catalog, local.workspace.id)
    finally:
        await catalog.close()
        await database.close()
