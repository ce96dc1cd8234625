"""The audit log: who did what, when and from where, and whether it is complete."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from sqlalchemy.engine import Connection

from executor.model.event import Event, EventFilter
from executor.model.identity.actor import Actor
from executor.storage.catalog import policy_scope
from executor.storage.database import SEARCH_SECONDS, Database
from executor.storage.executions import event_chain, events
from executor.storage.executions.event_chain import Report
from executor.storage.scan import Page

EXPORTED = 1_000  # events read at a time


async def search(
    database: Database, by: Actor, wanted: EventFilter, *, before: int | None = None, limit: int = 100
) -> tuple[Page[Event], dict[str, str]]:
    """Newest first, with the names of the actors by id."""

    def job(c: Connection) -> tuple[Page[Event], dict[str, str]]:
        found = events.search(c, by.workspace_id, wanted, before=before, limit=limit)
        return found, policy_scope.actor_names(c, by.workspace_id, {event.actor_id for event in found})

    return await database.search(job, SEARCH_SECONDS)


async def verify(database: Database, by: Actor, noted: tuple[int, str] | None) -> Report:
    """Check the chain of all events. It must still contain the head that was `noted` elsewhere."""
    report = await database.scan(lambda c: event_chain.verify(c, by.workspace_id, noted))
    await database.flush()
    return report


async def export(database: Database, by: Actor, *, after: int, limit: int | None) -> AsyncIterator[list[Event]]:
    """Pages of events, oldest first. The last event records this export itself."""
    data = {"after": after} if limit is None else {"after": after, "limit": limit}

    def job(c: Connection) -> int:
        events.append(c, by.workspace_id, "audit.exported", data, by=by)
        return events.newest(c, by.workspace_id)

    return _pages(database, by.workspace_id, after, await database.write(job), limit)


async def _pages(
    database: Database, workspace_id: str, after: int, end: int, limit: int | None
) -> AsyncIterator[list[Event]]:
    """Read at the reader's own pace. Later events are not included."""
    left = end if limit is None else limit
    while left > 0 and after < end:
        found = await database.scan(partial(_page, workspace_id, after, end, min(left, EXPORTED)))
        if not found:
            return
        yield found
        after, left = found[-1].id, left - len(found)


def _page(workspace_id: str, after: int, end: int, limit: int, c: Connection) -> list[Event]:
    return [event for event in events.after(c, workspace_id, after=after, limit=limit) if event.id <= end]


def record_refusal(
    database: Database, workspace_id: str, data: dict[str, Any], by: Actor | None
) -> asyncio.Future[None]:
    """Queue the event. The request is refused whether or not it can be written."""
    return database.write(lambda c: events.append(c, workspace_id, "request.refused", data, by=by))
