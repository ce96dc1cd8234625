"""The live feed: committed events, handed to whoever follows a workspace or an execution."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial

from executor.model.event import Announcement, Event
from executor.storage import events
from executor.storage.database import Database

PAGE = 500


class Feed:
    """A follower reads history from the database and is only woken by commits, so it can't miss or repeat an event."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._wakers: set[tuple[str, str | None, asyncio.Event]] = set()
        self._listeners: list[Callable[[Announcement], None]] = []
        self._closed = False
        database.on_events = self._publish

    def listen(self, listener: Callable[[Announcement], None]) -> None:
        """Call `listener` for every committed event, in commit order, before the writer's own caller goes on."""
        self._listeners.append(listener)

    def close(self) -> None:
        self._closed = True
        for _, _, waker in self._wakers:
            waker.set()

    def _publish(self, committed: list[Announcement]) -> None:
        for announcement in committed:
            for listener in self._listeners:
                listener(announcement)
        if not self._wakers:
            return
        touched = {(event.workspace_id, event.execution_id) for event in committed}
        for workspace_id, execution_id, waker in self._wakers:
            if any(workspace == workspace_id and execution_id in (None, of) for workspace, of in touched):
                waker.set()

    async def follow(
        self, workspace_id: str, *, execution_id: str | None = None, after: int = 0
    ) -> AsyncIterator[Event]:
        waker = asyncio.Event()
        entry = (workspace_id, execution_id, waker)
        self._wakers.add(entry)
        try:
            while not self._closed:
                waker.clear()
                read = partial(events.after, workspace_id=workspace_id, execution_id=execution_id, after=after)
                found = await self._database.read(partial(read, limit=PAGE))
                for event in found:
                    after = event.id
                    yield event
                if len(found) < PAGE and not self._closed:
                    await waker.wait()
        finally:
            self._wakers.discard(entry)
