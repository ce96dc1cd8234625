"""One request under way, known to the transport that carries it.

The SDK hands a failure of one HTTP request to no one, or to everyone on the connection. Its tasks do run in the context
of the sender, so the transport finds the request here, and reports what became of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar

from executor.errors import SourceError, SourceUnreachable

GRACE_SECONDS = 1.0
CURRENT: ContextVar[Exchange | None] = ContextVar("executor_mcp_exchange", default=None)


class Exchange:
    """`sent` is true as soon as the server may have read the request, `broken` when its answer stopped midway.

    `opens` marks the handshake: streams that begin in it continue after it. With `total`, news of progress renews the
    time, until so many seconds have passed.
    """

    def __init__(self, seconds: float, *, opens: bool = False, total: float = 0.0) -> None:
        self.opens = opens
        self.total = total
        self.sent = False
        self.broken = False
        self.failure: SourceError | None = None
        now = asyncio.get_running_loop().time()
        self.deadline = now + (min(seconds, total) if total else seconds)
        self._latest = now + total
        self._others: set[asyncio.Timeout] = set()
        self._seconds = seconds
        self._timeout: asyncio.Timeout | None = None
        self._paused_at = 0.0

    def fail(self, error: SourceError) -> None:
        """Anyone who waits in `running` gets this error now."""
        if self.failure is None:
            self.failure = error
            if self._timeout is not None:
                with suppress(RuntimeError):  # it is over already
                    self._timeout.reschedule(asyncio.get_running_loop().time())

    def pause(self) -> None:
        """Time spent in a queue of ours is not the server's."""
        self._paused_at = asyncio.get_running_loop().time()
        self._reschedule(None)

    def go_on(self) -> None:
        paused = asyncio.get_running_loop().time() - self._paused_at
        self.deadline += paused
        self._latest += paused
        self._reschedule(self.deadline)

    async def hear_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """The server is at work, so it gets its time again."""
        self.deadline = max(self.deadline, min(asyncio.get_running_loop().time() + self._seconds, self._latest))
        self._reschedule(self.deadline)
        for timeout in self._others:
            with suppress(RuntimeError):  # it is over already
                timeout.reschedule(self.deadline + GRACE_SECONDS)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Ends with TimeoutError a little after the deadline, wherever that is by then: the deadline itself knows best
        what happened."""
        async with asyncio.timeout_at(self.deadline + GRACE_SECONDS) as timeout:
            self._others.add(timeout)
            try:
                yield
            finally:
                self._others.discard(timeout)

    def _reschedule(self, when: float | None) -> None:
        if self._timeout is not None and self.failure is None:
            with suppress(RuntimeError):  # it is over already
                self._timeout.reschedule(when)

    @asynccontextmanager
    async def running(self, where: str) -> AsyncIterator[None]:
        """Raises `failure` if there is one, and SourceUnreachable when time is up."""
        token = CURRENT.set(self)
        try:
            async with asyncio.timeout_at(self.deadline) as self._timeout:
                yield
        except TimeoutError as error:
            raise self.failure or self._too_late(where) from error
        finally:
            CURRENT.reset(token)
        if self.failure is not None:
            raise self.failure

    def _waited_seconds(self) -> float:
        return self.total if self.total and self.deadline >= self._latest else self._seconds

    def _too_late(self, where: str) -> SourceUnreachable:
        return SourceUnreachable(
            f"{where} did not answer within {self._waited_seconds():g} seconds",
            hint="check that the server is up, then try again",
            reason="timeout",
            sent=self.sent,
        )
