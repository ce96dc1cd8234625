"""A catalog for API documents on a database of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from executor.catalog.catalog import Catalog
from executor.network.client import Egress
from executor.sources.openapi.kind import OpenApi
from executor.storage.database import Database
from executor.storage.identity import tenancy
from executor.storage.migrate import ready


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[Catalog, Database, str]]:
    """The catalog, its database and the workspace."""
    database = Database(ready(folder / "data" / "executor.db"))
    workspace_id = (await database.write(tenancy.provision)).workspace.id
    catalog = Catalog(database, {"openapi": OpenApi(Egress())})
    try:
        yield catalog, database, workspace_id
    finally:
        await catalog.close()
        await database.close()
