"""One check at a time, in the order they came; and a checker's process that no one needs for a while is ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

IDLE_SECONDS = 300.0
MAX_WAITING = 64
QUEUE_SECONDS = 10.0
_LEAST_SECONDS, _SECONDS_PER_CHARACTER, _MOST_SECONDS = 3.0, 10e-6, 6.0


class Unavailable(Exception):
    """There is no checker now; the message says why."""


def seconds(size: int) -> float:
    """What the check of so many characters may take."""
    return min(_LEAST_SECONDS + size * _SECONDS_PER_CHARACTER, _MOST_SECONDS)


class CheckQueue:
    """`end` ends the process, if there is one. It is only ever called while no check is under way."""

    def __init__(self, end: Callable[[], Awaitable[None]], idle_seconds: float) -> None:
        self._end = end
        self._idle_seconds = idle_seconds
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._idle: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None
        self.closed = False

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """First come, first served; anyone who would wait too long gets an error instead."""
        if self._waiting >= MAX_WAITING:
            raise Unavailable(f"{self._waiting} checks are already waiting")
        self._waiting += 1
        try:
            async with asyncio.timeout(QUEUE_SECONDS):
                await self._turn.acquire()
        except TimeoutError:
            raise Unavailable(f"other checks took more than {QUEUE_SECONDS:g} s") from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._turn.release()
            self._rest()

    def stop(self) -> None:
        """Nothing is started from now on."""
        self.closed = True
        if self._idle is not None:
            self._idle.cancel()

    async def close(self) -> None:
        self.stop()
        if self._ending is not None:
            await asyncio.gather(self._ending, return_exceptions=True)
        await self._end_in_turn()

    def _rest(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        if not self.closed:
            self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self._end_if_idle)

    def _end_if_idle(self) -> None:
        if not self._turn.locked():
            self._ending = asyncio.get_running_loop().create_task(self._end_in_turn())

    async def _end_in_turn(self) -> None:
        async with self._turn:
            await self._end()
