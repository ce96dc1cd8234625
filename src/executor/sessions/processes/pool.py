"""How many executor processes there may be at once. Who waits for one takes turns by person; idle ones make room."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from executor.model.fairness import FairQueue, Party

Close = Callable[[], Awaitable[None]]


@dataclass(eq=False)
class Place:
    """One process, held from before its start until it has ended. `close` ends it when it is idle."""

    party: Party
    close: Close
    granted: asyncio.Future[None]


class Pool:
    """`limit` processes. A place is idle between tasks: then it is closed for anyone who waits, or after a while."""

    def __init__(self, limit: int, idle_seconds: float) -> None:
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._places: set[Place] = set()
        self._idle: OrderedDict[Place, asyncio.TimerHandle] = OrderedDict()
        self._queue: FairQueue[Place] = FairQueue()
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def has_waiting(self) -> bool:
        return len(self._queue) > 0

    @property
    def is_full(self) -> bool:
        return len(self._places) >= self._limit and not self._idle

    @property
    def counts(self) -> dict[str, int]:
        idle = len(self._idle)
        return {"busy": len(self._places) - idle, "idle": idle, "waiting": len(self._queue)}

    async def take(self, party: Party, close: Close) -> Place:
        """Waits for its turn."""
        place = Place(party, close, asyncio.get_running_loop().create_future())
        self._queue.push(party, place)
        self._grant()
        try:
            await place.granted
        except asyncio.CancelledError:
            self._queue.discard(party, place)
            self.release(place)
            raise
        return place

    def release(self, place: Place) -> None:
        """Its process has ended."""
        self.keep_busy(place)
        self._places.discard(place)
        self._grant()

    def keep_busy(self, place: Place) -> None:
        if (timer := self._idle.pop(place, None)) is not None:
            timer.cancel()

    def let_idle(self, place: Place) -> None:
        self.keep_busy(place)
        if place in self._places:
            loop = asyncio.get_running_loop()
            self._idle[place] = loop.call_later(self._idle_seconds, self._close, place)
            self._grant()

    def _grant(self) -> None:
        while len(self._queue) and len(self._places) < self._limit:
            place = self._queue.pop()
            if place is None:
                return
            if not place.granted.done():
                self._places.add(place)
                place.granted.set_result(None)
        for place in list(self._idle)[: len(self._queue)]:
            self._close(place)

    def _close(self, place: Place) -> None:
        self.keep_busy(place)
        task = asyncio.ensure_future(place.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
