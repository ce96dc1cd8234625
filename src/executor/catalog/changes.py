"""Sources added, read again and removed: each change is one transaction with its event."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from sqlalchemy.engine import Connection

from executor.catalog import namespaces
from executor.errors import NotFound, SourceError
from executor.model.ids import new_id, now_ms
from executor.model.source import Loaded, Source
from executor.sources.kind import Kind, SourceRequest
from executor.storage import sources, tools
from executor.storage.database import Database
from executor.storage.tools import Prepared


async def add(database: Database, kind: Kind, workspace_id: str, request: SourceRequest) -> Source:
    if request.namespace:
        namespaces.check(request.namespace)
        await database.read(lambda c: refuse_taken(c, workspace_id, request.namespace))
    loaded = await kind.load(request)
    namespaces.check(loaded.namespace)
    now = now_ms()
    fresh = Source(
        id=new_id("src"),
        workspace_id=workspace_id,
        kind=request.kind,
        namespace=loaded.namespace,
        name=loaded.name,
        config={},
        created_at=now,
    )
    source = filled(fresh, loaded)
    prepared = await asyncio.to_thread(tools.prepare, source, loaded.tools, loaded.definitions)

    def write(c: Connection) -> None:
        refuse_taken(c, workspace_id, source.namespace)
        sources.insert(c, source)
        tools.replace_all(c, source, prepared)

    await database.write(write)
    return source


async def refresh(database: Database, kind: Kind, source: Source) -> Source:
    try:
        loaded = await kind.load(kind.reload_request(source))
    except SourceError as error:
        failing = replace(source, status="failing", error=error.message)
        await database.write(lambda c: sources.replace(c, failing))
        raise
    fresh = filled(source, loaded)
    prepared = await asyncio.to_thread(tools.prepare, fresh, loaded.tools, loaded.definitions)
    if not await database.write(lambda c: store(c, fresh, prepared)):
        raise no_source(source.namespace)
    return fresh


def store(c: Connection, source: Source, prepared: Prepared) -> bool:
    if not sources.replace(c, source):
        return False
    tools.replace_all(c, source, prepared)
    return True


async def remove(database: Database, workspace_id: str, id_or_namespace: str) -> Source:
    source = await database.write(lambda c: sources.delete(c, workspace_id, id_or_namespace))
    if source is None:
        raise no_source(id_or_namespace)
    return source


async def present(database: Database, workspace_id: str, id_or_namespace: str) -> Source:
    source = await database.read(lambda c: sources.get(c, workspace_id, id_or_namespace))
    if source is None:
        raise no_source(id_or_namespace)
    return source


def filled(source: Source, loaded: Loaded) -> Source:
    return replace(
        source,
        name=loaded.name,
        config=loaded.config,
        status="connected",
        error="",
        document_digest=loaded.document_digest,
        tool_count=len(loaded.tools),
        skipped=loaded.skipped,
        refreshed_at=now_ms(),
    )


def refuse_taken(c: Connection, workspace_id: str, namespace: str) -> None:
    if sources.get(c, workspace_id, namespace) is not None:
        raise namespaces.taken(namespace)


def no_source(id_or_namespace: str) -> NotFound:
    return NotFound(
        f"there is no source {id_or_namespace[:80]!r}", hint="`executor sources list` shows what is connected"
    )
