"""Who gets the next free place, and who has to give one up.

A program that has burnt much CPU time is a hog. Hogs may hold all places but a quarter: when others wait and hogs hold
more, the latest of them is evicted. It starts again, once, when it is the turn of a hog, and then keeps its place. So
new programs are tried however many hogs there are. Of those that wait the first and the last come are served by turns:
the last come would otherwise have to wait until every hog before it has been found out.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable

from executor.errors import ExecutorError
from executor.runtime.sandbox import Program
from executor.runtime.typescript.process import Place, Worker

_RESERVED_PART, _LEAST_RESERVED = 4, 2
_REMEMBERED = 10_000

Waiter = asyncio.Future[Place]


class Turns:
    """`workers` are those alive. What is free is kept by the workers; here are those that wait for it."""

    def __init__(self, workers: list[Worker], total: int) -> None:
        self._workers = workers
        reserved = max(_LEAST_RESERVED, total // _RESERVED_PART)
        self._share = total - reserved if total > reserved else total
        self._waiting: deque[Waiter] = deque()
        self._hogs: deque[Waiter] = deque()
        self._known: OrderedDict[int, None] = OrderedDict()
        self._leaving: set[Place] = set()
        self._last_come = False

    def _places(self) -> Iterable[Place]:
        return (place for worker in self._workers for place in worker.places)

    @property
    def _held_by_hogs(self) -> int:
        return sum(1 for place in self._places() if place.is_settled or place.hog_since is not None)

    # -- waiting -------------------------------------------------------------------------------------------------------

    def take(self) -> Place | None:
        """A place on the worker with the most free ones."""
        worker = max(self._workers, key=lambda candidate: len(candidate.free), default=None)
        return worker.free.pop() if worker is not None and worker.free else None

    async def wait(self, give_back: Callable[[Place], None], *, hog: bool) -> Place:
        future: Waiter = asyncio.get_running_loop().create_future()
        (self._hogs if hog else self._waiting).append(future)
        self.serve()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                give_back(future.result())
            raise

    def serve(self) -> None:
        while any(worker.free for worker in self._workers) and (waiter := self._next()) is not None:
            place = self.take()
            if place is not None:
                waiter.set_result(place)
        self.relieve()

    def _next(self) -> Waiter | None:
        for queue in (self._hogs, self._waiting):
            while queue and queue[0].done():
                queue.popleft()
            while queue and queue[-1].done():
                queue.pop()
        if self._hogs and self._held_by_hogs < self._share:
            return self._hogs.popleft()
        if not self._waiting:
            return None
        self._last_come = not self._last_come
        return self._waiting.pop() if self._last_come else self._waiting.popleft()

    def refuse_all(self, error: ExecutorError) -> None:
        for queue in (self._waiting, self._hogs):
            while queue:
                future = queue.popleft()
                if not future.done():
                    future.set_exception(error)
                    future.exception()

    # -- hogs ----------------------------------------------------------------------------------------------------------

    def is_known(self, program: Program) -> bool:
        return hash((program.seed, program.code)) in self._known

    def remember(self, program: Program) -> None:
        self._known[hash((program.seed, program.code))] = None
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def relieve(self) -> None:
        """One place for each that waits, as long as hogs hold more than their share."""
        self._leaving = {place for place in self._leaving if not place.worker.is_dead}
        wanted = sum(1 for future in self._waiting if not future.done()) - len(self._leaving)
        surplus = self._held_by_hogs - self._share
        if min(wanted, surplus) <= 0:
            return
        hogs = [(place.hog_since, place) for place in self._places() if place.hog_since is not None and place.waiting]
        latest = sorted((hog for hog in hogs if not hog[1].is_settled), key=lambda hog: hog[0] or 0.0, reverse=True)
        for _, place in latest[: min(wanted, surplus)]:
            self._leaving.add(place)
            place.evict()

    def left(self, place: Place) -> None:
        """Its program is gone."""
        self._leaving.discard(place)
        place.hog_since, place.is_settled = None, False
