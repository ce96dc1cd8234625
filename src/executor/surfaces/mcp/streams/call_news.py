"""What happens in an execution while its client waits: reports of its calls, and what their servers log.

Only for clients that asked: for progress by a token, for logs by a level.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final, Protocol

from executor.model.event import ENDINGS, Batch, Event
from executor.model.ids import now_ms
from executor.surfaces.mcp.handshake import META

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
OURS: Final = {"warn": "warning", "log": "info", "fatal": "critical"}
REMARKS: Final = ("call.logged", "call.warned")
REPORTED: Final = {"call.started": "started", "call.succeeded": "succeeded", "call.failed": "failed"}
PAUSED: Final = "execution.paused"
MOST_NEWS: Final = 200  # of one call; after that it only says that it is still running
MOST_SESSIONS: Final = 10_000
DRAIN_SECONDS: Final = 0.5  # for news of what happened just before the answer
TEXT_CHARACTERS: Final = 2_000


class Stream(Protocol):
    async def say(self, message: dict[str, Any]) -> None: ...

    async def report(self, text: str) -> None: ...


class LogLevels:
    """Of the sessions whose clients set one. Lost when the daemon restarts: then nothing is logged to them."""

    def __init__(self) -> None:
        self._levels: dict[str, str] = {}

    def set(self, session: str, level: str) -> None:
        self._levels.pop(session, None)
        if session and level in LEVELS:
            self._levels[session] = level
        while len(self._levels) > MOST_SESSIONS:
            del self._levels[next(iter(self._levels))]

    def of(self, session: str, params: object) -> str | None:
        """That of the request itself, as the newest revision has it, or of its session."""
        meta = params.get("_meta") if isinstance(params, dict) else None
        if isinstance(meta, dict) and f"{META}protocolVersion" in meta:
            own = meta.get(f"{META}logLevel")
            return own if isinstance(own, str) and own in LEVELS else None
        return self._levels.get(session)


class CallNews:
    def __init__(self, stream: Stream, level: str | None, *, has_progress: bool) -> None:
        self._stream = stream
        self._least = LEVELS.index(level) if level is not None else len(LEVELS)
        self._has_progress = has_progress
        self._left = MOST_NEWS
        self._since = now_ms()
        self._task: asyncio.Task[None] | None = None

    def follow(self, batches: AsyncIterator[Batch]) -> None:
        """Events of an execution that the client may see."""
        if self._task is None:
            self._task = asyncio.create_task(self._follow(batches))

    async def finish(self) -> None:
        """Before the answer is sent: nothing may come after it."""
        if self._task is not None:
            await asyncio.wait((self._task,), timeout=DRAIN_SECONDS)
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _follow(self, batches: AsyncIterator[Batch]) -> None:
        async for batch in batches:
            for event in batch.events:
                if event.at >= self._since:
                    await self._pass_on(event)
                    if event.type in ENDINGS or event.type == PAUSED:
                        return

    async def _pass_on(self, event: Event) -> None:
        if self._left <= 0:
            return
        path = str(event.data.get("path", ""))
        if event.type in REMARKS:
            said = str(event.data.get("level", ""))
            level = OURS.get(said, said if said in LEVELS else "info")
            if LEVELS.index(level) >= self._least:
                self._left -= 1
                text = str(event.data.get("text", ""))[:TEXT_CHARACTERS]
                params = {"level": level, "logger": path, "data": text}
                await self._stream.say({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
        elif self._has_progress and event.type in REPORTED:
            self._left -= 1
            await self._stream.report(f"{path} {REPORTED[event.type]}")


# Of the call under way. The SDK's own tasks start from the request's and inherit it.
NEWS: ContextVar[CallNews | None] = ContextVar("news", default=None)
