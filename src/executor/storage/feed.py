"""The live feed: committed events, read once and handed to everyone who follows a workspace or an execution."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from executor.errors import StorageError
from executor.model.event import QUIET, Announcement, Batch, Event
from executor.storage.database import Database
from executor.storage.executions import events

if TYPE_CHECKING:
    from executor.storage.postgres.notices import Notices

PAGE = 500
KEPT = 1_000  # events in memory, of each workspace or execution that is followed
SLICE = 25  # followers woken at a time, so that others are served in between
PAUSE = 0.0005  # seconds per follower between two deliveries: many followers get many events at once instead
LONGEST_PAUSE = 0.5
DECISIVE = ("policy.added", "source.refreshed", "connection.added", "agent.created")
LOOK_SECONDS = 2.0  # where other processes write too
Key = tuple[str, str | None]

logger = logging.getLogger(__name__)


class Feed:
    """A follower is handed what the database has, and only woken by commits, so it can't miss or repeat an event."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tails: dict[Key, Tail] = {}
        self._listeners: list[tuple[Callable[[Announcement], None], Callable[[], None] | None]] = []
        self._notices: Notices | None = None
        self._closed = False
        database.on_events = self._publish

    def listen(self, listener: Callable[[Announcement], None], on_gap: Callable[[], None] | None = None) -> None:
        """Call `listener` for committed events, in commit order, before the writer's own caller continues: for all but
        those that are QUIET.

        Where several processes share the database, what others committed comes a moment later, and may be missed: then
        `on_gap` is called, and everything that is remembered may be old. So it is when `listener` raises.
        """
        self._listeners.append((listener, on_gap))

    async def join(self) -> None:
        """From now on, hear what other processes commit."""
        processes = self._database.processes
        if processes is not None:
            from executor.storage.postgres.notices import Notices

            self._notices = Notices(processes.url, self._deliver, self.forget)

    def forget(self) -> None:
        """Something may have been missed: nothing that is remembered is kept."""
        for _, on_gap in self._listeners:
            forget_all(on_gap)
        for tail in self._tails.values():
            tail.fresh.set()

    def forget_workspace(self, workspace_id: str) -> None:
        """What decides about its calls has changed, in whatever way: as if each of these had been announced."""
        self._deliver([Announcement(workspace_id, "", type) for type in DECISIVE])

    async def leave(self) -> None:
        if self._notices is not None:
            await self._notices.close()
            self._notices = None

    def close(self) -> None:
        self._closed = True
        for tail in self._tails.values():
            tail.close()

    def _publish(self, committed: list[Announcement]) -> None:
        if self._notices is not None:
            self._notices.announce(committed)
        self._deliver(committed)

    def _deliver(self, committed: list[Announcement]) -> None:
        for announcement in committed:
            if announcement.type.startswith(QUIET):
                continue
            for listener, on_gap in self._listeners:
                try:
                    listener(announcement)
                except Exception:
                    logger.exception("a listener failed", extra={"event": announcement.type})
                    forget_all(on_gap)
        if self._tails:
            for event in committed:
                for key in ((event.workspace_id, None), (event.workspace_id, event.execution_id)):
                    if (tail := self._tails.get(key)) is not None:
                        tail.fresh.set()

    async def follow(
        self, workspace_id: str, *, execution_id: str | None = None, after: int = 0, waker: asyncio.Event | None = None
    ) -> AsyncGenerator[Batch, None]:
        """What comes after `after`. Setting `waker` lets go of a follower that waits: it is handed an empty batch."""
        waker, key = waker or asyncio.Event(), (workspace_id, execution_id)
        tail = self._tails.get(key)
        if tail is None or tail.failure is not None:
            tail = self._tails[key] = Tail(self._database, key)
        tail.wakers.add(waker)
        try:
            await asyncio.shield(tail.begun)
            while not self._closed:
                if tail.failure is not None:
                    raise tail.failure
                waker.clear()
                batch = tail.since(after) if after >= tail.floor else Batch(await tail.read(after))
                if batch.events:
                    after = batch.events[-1].id
                    yield batch
                elif after < tail.floor:
                    after = tail.floor
                else:
                    await waker.wait()
                    if not tail.since(after).events:
                        yield EMPTY
        finally:
            tail.wakers.discard(waker)
            if not tail.wakers and self._tails.get(key) is tail:
                del self._tails[key]
                tail.close()


def forget_all(on_gap: Callable[[], None] | None) -> None:
    """Others are called whatever this one does."""
    if on_gap is not None:
        try:
            on_gap()
        except Exception:
            logger.exception("a listener failed to forget")


EMPTY = Batch(())


class Tail:
    """The newest events of a workspace or an execution: every one above `floor` is here."""

    def __init__(self, database: Database, key: Key) -> None:
        self._database = database
        self._key = key
        self._events: deque[Event] = deque()
        self._batches: dict[int, Batch] = {}
        self.floor = 0
        self.failure: StorageError | None = None
        self.wakers: set[asyncio.Event] = set()
        self.fresh = asyncio.Event()
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run())

    def close(self) -> None:
        self._task.cancel()
        self._begin()
        for waker in self.wakers:
            waker.set()

    def since(self, after: int) -> Batch:
        batch = self._batches.get(after)
        if batch is None:
            found = [event for event in self._events if event.id > after]
            batch = self._batches[after] = Batch(found)
        return batch

    async def read(self, after: int) -> list[Event]:
        workspace_id, execution_id = self._key
        read = partial(events.after, workspace_id=workspace_id, execution_id=execution_id, after=after, limit=PAGE)
        found = await self._database.read(read)
        if found:
            await self._database.flush()
        return found

    async def _run(self) -> None:
        try:
            workspace_id, execution_id = self._key
            self.floor = last = await self._database.read(
                lambda c: events.newest(c, workspace_id, execution_id=execution_id)
            )
            await self._database.flush()
            self._begin()
            while True:
                await self._news()
                self.fresh.clear()
                while found := await self.read(last):
                    last = found[-1].id
                    self._keep(found)
                    await self._wake()
                await asyncio.sleep(min(LONGEST_PAUSE, PAUSE * len(self.wakers)))
        except StorageError as error:
            self.failure = error
            await self._wake()
        finally:
            self._begin()

    async def _news(self) -> None:
        if self._database.processes is None:
            await self.fresh.wait()
            return
        with suppress(TimeoutError):  # a process that ends right after a commit announces nothing
            async with asyncio.timeout(LOOK_SECONDS):
                await self.fresh.wait()

    def _begin(self) -> None:
        if not self.begun.done():
            self.begun.set_result(None)

    def _keep(self, found: list[Event]) -> None:
        self._events.extend(found)
        while len(self._events) > KEPT:
            self.floor = self._events.popleft().id
        self._batches.clear()

    async def _wake(self) -> None:
        for number, waker in enumerate(list(self.wakers), start=1):
            waker.set()
            if not number % SLICE:
                await asyncio.sleep(0)
