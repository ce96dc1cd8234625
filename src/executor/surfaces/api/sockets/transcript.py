"""A transcript over a WebSocket: the records of the event stream, one JSON object in each message."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any
from urllib.parse import parse_qs

from starlette.types import Scope

from executor.errors import InvalidRequest
from executor.sessions.transcripts.transcript import Batch, Transcript
from executor.surfaces.api.sockets.socket import Socket
from executor.surfaces.api.sse import MOST
from executor.surfaces.views.sessions import append_view, message_view, session_view


async def serve(socket: Socket, scope: Scope, session_id: str) -> None:
    socket.check("prompt", "read")
    after = read_after(scope["query_string"])
    transcript = await socket.executor.sessions.follow(socket.actor, session_id)
    await socket.accept()
    await socket.run(_show(socket, transcript, after), _listen(socket))


def read_after(query: bytes) -> int:
    text = parse_qs(query.decode("latin-1")).get("after", ["0"])[0]
    if not text.isdecimal() or len(text) > len(str(MOST)) or int(text) > MOST:
        raise InvalidRequest("`after` must be a sequence number", hint="use that of the last record you have")
    return int(text)


async def _show(socket: Socket, transcript: Transcript, after: int) -> None:
    async with aclosing(transcript.follow(after, asyncio.Event())) as batches:
        async for batch in batches:
            for one in render(batch):
                await socket.send(one)


def render(batch: Batch) -> list[dict[str, Any]]:
    if batch.session is not None:
        return [{"type": "session", "data": session_view(batch.session)}]
    return [
        {
            "type": "append" if change.appends else "message",
            "sequence": change.sequence,
            "data": append_view(change.message) if change.appends else message_view(change.message),
        }
        for change in batch.changes
    ]


async def _listen(socket: Socket) -> None:
    """Nothing is expected; this notices the end."""
    while await socket.receive() is not None:
        pass
