"""Long work that reports its progress by server-sent events. The last one is the answer or the problem."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.responses import StreamingResponse

from executor.errors import ExecutorError
from executor.sources.source_request import Progress
from executor.surfaces.api.sse import frame
from executor.surfaces.http import problems

Work = Callable[[Progress], Awaitable[Any]]
_under_way: set[asyncio.Future[Any]] = set()


def with_progress(work: Work) -> StreamingResponse:
    """The work continues when the reader leaves, as it would without progress."""
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


def outcome(task: asyncio.Future[Any]) -> bytes:
    error = task.exception()
    if error is None:
        return frame("done", task.result())
    known = error if isinstance(error, ExecutorError) else problems.opaque(error)
    return frame("problem", known.to_problem())
