"""Who gets the next free place, and who has to leave one.

A program that has burnt much CPU time is a hog. Hogs may hold all places but a quarter: when others wait and hogs hold
more, the latest of them is evicted. It starts again, once, when it is the turn of a hog, and then keeps its place. So
new programs are tried however many hogs there are. Those that wait are served by turns of workspaces and of their
actors, so that no one waits behind another's queue. Of one actor's now the first come is served and now the last: the
last come would otherwise have to wait until every hog before it has been found out.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from random import getrandbits

from executor.errors import ExecutorError
from executor.model.fairness import CURRENT, SharedQueue
from executor.runtime.protocol import Program
from executor.runtime.worker.process import Place, Worker

_RESERVED_PART, _LEAST_RESERVED = 4, 2
_REMEMBERED = 10_000

Waiter = asyncio.Future[Place]


class Scheduler:
    """`workers` are those alive. What is free is kept by the workers; here are those that wait for it."""

    def __init__(self, workers: list[Worker], total: int) -> None:
        self._workers = workers
        reserved = max(_LEAST_RESERVED, total // _RESERVED_PART)
        self._share = total - reserved if total > reserved else total
        self._waiting: SharedQueue[Waiter] = SharedQueue()
        self._hogs: deque[Waiter] = deque()
        self._known: OrderedDict[int, None] = OrderedDict()
        self._leaving: set[Place] = set()

    def _places(self) -> Iterable[Place]:
        return (place for worker in self._workers for place in worker.places)

    @property
    def _held_by_hogs(self) -> int:
        return sum(1 for place in self._places() if place.is_settled or place.hog_since is not None)

    # -- waiting -------------------------------------------------------------------------------------------------------

    def take(self) -> Place | None:
        """A place on the worker with the most free ones."""
        worker = max(self._workers, key=lambda candidate: len(candidate.free), default=None)
        if worker is None or not worker.free:
            return None
        place = worker.free.pop()
        worker.most_at_once = max(worker.most_at_once, len(worker.places) - len(worker.free))
        return place

    async def wait(self, give_back: Callable[[Place], None], *, hog: bool) -> Place:
        future: Waiter = asyncio.get_running_loop().create_future()
        party = CURRENT.get()
        if hog:
            self._hogs.append(future)
        else:
            self._waiting.push(party, future)
        self.serve()
        try:
            return await future
        except asyncio.CancelledError:
            self._waiting.discard(party, future)
            if future.done() and not future.cancelled() and future.exception() is None:
                give_back(future.result())
            raise

    def serve(self) -> None:
        while any(worker.free for worker in self._workers) and (waiter := self._next()) is not None:
            place = None if waiter.done() else self.take()
            if place is not None:
                waiter.set_result(place)
        self.relieve()

    def _next(self) -> Waiter | None:
        while self._hogs and self._hogs[0].done():
            self._hogs.popleft()
        if self._hogs and self._held_by_hogs < self._share:
            return self._hogs.popleft()
        return self._waiting.pop(last=bool(getrandbits(1)))

    def refuse_all(self, error: ExecutorError) -> None:
        waiting = [*self._waiting.clear(), *self._hogs]
        self._hogs.clear()
        for future in waiting:
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
        if self._leaving:
            self._leaving = {place for place in self._leaving if not place.worker.is_dead}
        wanted = len(self._waiting) - len(self._leaving)
        if wanted <= 0:
            return
        surplus = self._held_by_hogs - self._share
        if surplus <= 0:
            return
        hogs = [(place.hog_since, place) for place in self._places() if place.hog_since is not None and place.waiting]
        latest = sorted((hog for hog in hogs if not hog[1].is_settled), key=lambda hog: hog[0] or 0.0, reverse=True)
        for _, place in latest[: min(wanted, surplus)]:
            self._leaving.add(place)
            place.evict()

    def forget(self, place: Place) -> None:
        """Its program is gone."""
        self._leaving.discard(place)
        place.hog_since, place.is_settled = None, False
