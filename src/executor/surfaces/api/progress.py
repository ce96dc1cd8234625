"""Long work whose progress is told while it goes on: server-sent events, the last of them the answer or the problem."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from executor.errors import ExecutorError
from executor.sources.source_request import Progress
from executor.surfaces.http import problems
from executor.surfaces.views import View

Work = Callable[[Progress], Awaitable[View]]
_under_way: set[asyncio.Future[View]] = set()


def wants_progress(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "")


def with_progress(work: Work) -> Response:
    """The work goes on when the reader leaves, as it would without progress."""
    return StreamingResponse(stream_progress(work), media_type="text/event-stream")


async def stream_progress(work: Work) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    texts: asyncio.Queue[str | None] = asyncio.Queue()

    def progress(text: str) -> None:
        loop.call_soon_threadsafe(texts.put_nowait, text)

    task = asyncio.ensure_future(work(progress))
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)
    task.add_done_callback(lambda done: texts.put_nowait(None))
    while (text := await texts.get()) is not None:
        yield frame("progress", {"text": text})
    yield outcome(task)


def outcome(task: asyncio.Future[View]) -> bytes:
    error = task.exception()
    if error is None:
        return frame("done", task.result())
    known = error if isinstance(error, ExecutorError) else problems.opaque(error)
    return frame("problem", known.to_problem())


def frame(type: str, data: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (type.encode(), orjson.dumps(data, default=str))
