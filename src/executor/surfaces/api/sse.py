"""Events as a page or as a live stream (server-sent events).

New events are read and written out once for everyone who listens; who is behind reads pages of the database at their
own pace, so a slow reader costs no memory. One that stops reading altogether is let go.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import Annotated, Any, Final

import orjson
from fastapi import Header, Query
from pydantic import StringConstraints
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from executor.errors import DatabaseOutdated, StorageDamaged, StorageError
from executor.execution import history
from executor.model.event import ENDINGS, Batch, Event
from executor.surfaces.api.context import Context
from executor.surfaces.api.json_response import Answer, answer
from executor.surfaces.http.open_requests import abort, current
from executor.surfaces.views.events import EventPage, event_view

HEARTBEAT_SECONDS: Final = 15.0
STALLED_SECONDS: Final = 60.0
TYPE = r"^[a-z_]+(\.[a-z_*]+)*$"  # whole, or ending in `.*`
TROUBLE_SECONDS = 1.0  # between two tries to read from a database that fails
LASTING = (StorageDamaged, DatabaseOutdated)
PAGE = 500
MOST = 2**63 - 1  # what a database can compare with
After = Annotated[int, Query(ge=0, le=MOST)]
Types = Annotated[list[Annotated[str, StringConstraints(max_length=100, pattern=TYPE)]], Query(max_length=20)]
LastEventId = Annotated[int | None, Header(alias="Last-Event-ID", ge=0, le=MOST)]

logger = logging.getLogger(__name__)


async def events_answer(
    here: Context, execution_id: str | None, *, after: int, limit: int, types: Sequence[str] = ()
) -> Answer[EventPage] | EventStream:
    if wants_stream(here):
        has_ended = False
        if execution_id is not None:
            has_ended = (await history.find(here.executor.database, here.actor, execution_id)).is_final
        return EventStream(here, execution_id, after, has_ended=has_ended)
    found = await history.read_events(
        here.executor.database, here.actor, execution_id, types=types, after=after, limit=limit
    )
    items = [event_view(event) for event in found]
    return answer({"items": items, "next": found[-1].id if len(found) == limit else None})


class LiveStream(Response):
    """Sends what `_chunks` yields, until the client or its credential is gone, or the daemon stops.

    It stays open while the database fails, because browsers don't come back after an answer with an error.
    """

    media_type = "text/event-stream"

    def __init__(self, here: Context) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._here = here

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        held, request, waker = self._here.long_waits, current(), asyncio.Event()
        with held.stream(request):
            ends: list[asyncio.Future[Any]] = [
                asyncio.ensure_future(held.closed.wait()),
                asyncio.ensure_future(request.ended.wait()),
                asyncio.ensure_future(_wait_for_disconnect(receive)),
            ]
            for end in ends:
                end.add_done_callback(lambda _: waker.set())
            try:
                await self._send(send, ends, waker)
            except TimeoutError:
                await abort(scope)  # no one reads
            finally:
                for end in ends:
                    end.cancel()

    async def _send(self, send: Send, ends: list[asyncio.Future[Any]], waker: asyncio.Event) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with aclosing(self._all_chunks(ends, waker)) as chunks:
            async for chunk in chunks:
                async with asyncio.timeout(STALLED_SECONDS):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _all_chunks(self, ends: list[asyncio.Future[Any]], waker: asyncio.Event) -> AsyncGenerator[bytes, None]:
        while True:
            try:
                async with aclosing(self._chunks(ends, waker)) as chunks:
                    async for chunk in chunks:
                        yield chunk
                return
            except StorageError as error:
                logger.warning("a stream waits for the database: %s", error.message)
                if isinstance(error, LASTING):
                    return
            yield b": the database can't be read, trying again\n\n"
            ended, _ = await asyncio.wait(ends, timeout=TROUBLE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if ended:
                return

    def _chunks(self, ends: list[asyncio.Future[Any]], waker: asyncio.Event) -> AsyncGenerator[bytes, None]:
        """`waker` is set when one of `ends` has come. After a StorageError it is called again, to continue."""
        raise NotImplementedError


class EventStream(LiveStream):
    def __init__(self, here: Context, execution_id: str | None, after: int, *, has_ended: bool) -> None:
        super().__init__(here)
        self._execution_id = execution_id
        self._after = after
        self._had_ended = has_ended

    async def _chunks(self, ends: list[asyncio.Future[Any]], waker: asyncio.Event) -> AsyncGenerator[bytes, None]:
        yield b": connected\n\n"
        if await self._is_over():
            return
        follower = self._here.executor.feed.follow(
            self._here.workspace_id, execution_id=self._execution_id, after=self._after, waker=waker
        )
        with beating(waker):
            async with aclosing(follower) as batches:
                async for batch in batches:
                    if any(end.done() for end in ends) or await current().has_ended():
                        return
                    if batch.events:
                        self._after = batch.events[-1].id
                        yield render(batch)
                        if self._execution_id and any(event.type in ENDINGS for event in batch.events):
                            return
                    elif await self._has_ended():
                        # It may have ended since the follower looked, so its last events are read here.
                        while rest := await self._read_rest():
                            self._after = rest[-1].id
                            yield render(Batch(rest))
                        return
                    else:
                        yield b": heartbeat\n\n"

    async def _is_over(self) -> bool:
        """A reader that is already past the last event of a finished execution has nothing to wait for."""
        return self._had_ended and not await self._read_rest(1)

    async def _read_rest(self, limit: int = PAGE) -> list[Event]:
        here = self._here
        return await history.read_events(
            here.executor.database, here.actor, self._execution_id, after=self._after, limit=limit
        )

    async def _has_ended(self) -> bool:
        here, execution_id = self._here, self._execution_id
        return execution_id is not None and await history.has_ended(here.executor.database, here.actor, execution_id)


def wants_stream(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "")


def frame(type: str, data: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (type.encode(), orjson.dumps(data, default=str))


def render(batch: Batch) -> bytes:
    """Made once, however many read it."""
    if batch.rendered is None:
        batch.rendered = b"".join(b"id: %d\n" % one.id + frame(one.type, event_view(one)) for one in batch.events)
    return batch.rendered


@contextmanager
def beating(waker: asyncio.Event) -> Iterator[None]:
    """Woken now and then, to show that the stream still lives."""

    async def beat() -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            waker.set()

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
