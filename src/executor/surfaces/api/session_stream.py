"""A transcript as a live stream (server-sent events).

`message` is a record, new or replaced; `append` is more text of one; both have the sequence as their id. `session` is
the session as it is now, at the beginning and whenever it changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from executor.sessions.transcripts.transcript import Batch, Change, Transcript
from executor.surfaces.api.context import Context
from executor.surfaces.api.sse import LiveStream, beating, frame
from executor.surfaces.http.open_requests import current
from executor.surfaces.views.sessions import append_view, message_view, session_view


class TranscriptStream(LiveStream):
    def __init__(self, here: Context, transcript: Transcript, after: int) -> None:
        super().__init__(here)
        self._transcript = transcript
        self._after = after

    async def _chunks(self, ends: list[asyncio.Future[Any]], waker: asyncio.Event) -> AsyncGenerator[bytes, None]:
        yield b": connected\n\n"
        with beating(waker):
            async with aclosing(self._transcript.follow(self._after, waker)) as batches:
                async for batch in batches:
                    if any(end.done() for end in ends) or await current().has_ended():
                        return
                    yield render(batch)
                    self._after = batch.changes[-1].sequence if batch.changes else self._after


def render(batch: Batch) -> bytes:
    """Made once, however many read it."""
    if batch.session is not None:
        return frame("session", session_view(batch.session))
    if batch.rendered is None:
        batch.rendered = b"".join(map(render_change, batch.changes)) or b": heartbeat\n\n"
    return batch.rendered


def render_change(change: Change) -> bytes:
    message = change.message
    shown = frame("append", append_view(message)) if change.appends else frame("message", message_view(message))
    return b"id: %d\n" % change.sequence + shown
