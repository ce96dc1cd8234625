"""One request under way, known to the transport that carries it.

The SDK hands a failure of one HTTP request to no one, or to everyone on the connection. Its tasks do run in the context
of the sender, so the transport finds the request here, and reports what became of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar

from executor.errors import SourceError, SourceUnreachable
from executor.model.interaction import LISTENER, ElicitationAnswer

GRACE_SECONDS = 1.0
LINE_SECONDS = 1.0  # between two lines of progress in the log
LeaveTurn = Callable[[], Awaitable[None]]
CURRENT: ContextVar[Exchange | None] = ContextVar("executor_mcp_exchange", default=None)


class Exchange:
    """`sent` is true as soon as the server may have read the request, `broken` when its answer stopped midway.

    `opens` marks the handshake: streams that begin in it continue after it. With `total`, news of progress renews the
    time, until so many seconds have passed. `leave_turn` gives up its place in the queue of requests, for good.
    """

    def __init__(
        self, seconds: float, *, opens: bool = False, total: float = 0.0, leave_turn: LeaveTurn | None = None
    ) -> None:
        self.leave_turn = leave_turn
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
        self._pauses, self._paused_at = 0, 0.0
        self.listener = LISTENER.get()
        self.elicitations: set[asyncio.Task[ElicitationAnswer]] = set()
        self.is_over = False
        self._next_line = now

    def fail(self, error: SourceError) -> None:
        """Anyone who waits in `running` gets this error now."""
        if self.failure is None:
            self.failure = error
            if self._timeout is not None:
                with suppress(RuntimeError):  # it is over already
                    self._timeout.reschedule(asyncio.get_running_loop().time())

    def pause(self) -> None:
        """Time spent in a queue of ours, or by people, is not the server's."""
        self._pauses += 1
        if self._pauses == 1:
            self._paused_at = asyncio.get_running_loop().time()
            self._reschedule_all()

    def go_on(self) -> None:
        self._pauses -= 1
        if not self._pauses:
            paused = asyncio.get_running_loop().time() - self._paused_at
            self.deadline += paused
            self._latest += paused
            self._reschedule_all()

    async def hear_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """The server is at work, so it gets its time again. The log gets a line, but not many a second."""
        now = asyncio.get_running_loop().time()
        if not self._pauses:
            self.deadline = max(self.deadline, min(now + self._seconds, self._latest))
            self._reschedule_all()
        if self.listener is not None and now >= self._next_line:
            self._next_line = now + LINE_SECONDS
            of, said = f" of {total:g}" if total is not None else "", f": {message}" if message else ""
            self.listener.log("info", f"progress {progress:g}{of}{said}")

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Ends with TimeoutError a little after the deadline, wherever that is by then: the deadline itself knows best
        what happened."""
        async with asyncio.timeout_at(None if self._pauses else self.deadline + GRACE_SECONDS) as timeout:
            self._others.add(timeout)
            try:
                yield
            finally:
                self._others.discard(timeout)

    def _reschedule_all(self) -> None:
        """While paused, nothing ends."""
        if self._timeout is not None and self.failure is None:
            with suppress(RuntimeError):  # it is over already
                self._timeout.reschedule(None if self._pauses else self.deadline)
        for timeout in self._others:
            with suppress(RuntimeError):
                timeout.reschedule(None if self._pauses else self.deadline + GRACE_SECONDS)

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
            self.is_over = True
            for task in self.elicitations:
                task.cancel()
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
