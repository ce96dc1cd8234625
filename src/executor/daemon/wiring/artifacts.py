"""Where the content of artifacts is kept: the database, and an object store if `artifacts_url` says so."""

from __future__ import annotations

import asyncio
import logging

from executor.errors import ExecutorError
from executor.execution.artifacts.contents import Contents
from executor.settings import Settings
from executor.storage.database import Database

MAINTENANCE_SECONDS = 600.0
FIRST_SECONDS = 5.0
logger = logging.getLogger(__name__)


def contents_of(settings: Settings, database: Database) -> Contents:
    """Raises InvalidRequest if the store is wanted and its library is not installed."""
    if not settings.artifacts_url:
        return Contents(database)
    from executor.execution.artifacts.objects.location import parse_location
    from executor.execution.artifacts.objects.store import Objects

    location = parse_location(settings.artifacts_url)
    store = Objects(location, settings.artifacts_credentials_file, largest=settings.file_bytes)
    return Contents(database, store, settings.artifacts_object_bytes)


async def maintain_objects(contents: Contents) -> None:
    """In one process of all that share the database."""
    from executor.execution.artifacts.objects.maintenance import maintain

    await asyncio.sleep(FIRST_SECONDS)
    while True:
        if contents.database.processes is None or contents.database.processes.leads:
            try:
                await maintain(contents)
            except ExecutorError as error:
                logger.warning("objects are not maintained now: %s", error.message)
        await asyncio.sleep(MAINTENANCE_SECONDS)
