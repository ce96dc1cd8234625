"""Who holds a sandbox. A run that only waits gives its place up when another needs one, and replays later."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from time import monotonic

from executor.execution.backlog import Backlog
from executor.execution.runs.run import Run
from executor.model.fairness import Lane
from executor.runtime.protocol import Runtime, Sandbox

Opener = Callable[[], Awaitable[Sandbox]]
ROOM_SECONDS = 0.05
IDLE_SECONDS = 0.1


class Pool:
    """The places of one runtime: how many runs want one, and which hold one idly, those that wait longest first."""

    def __init__(self) -> None:
        self.wanted = 0
        self.idle: OrderedDict[Run, None] = OrderedDict()

    def make_room(self, now: float) -> None:
        resting: list[Run] = []
        for run in self.idle:
            if len(resting) == self.wanted or run.idle_since is None or now - run.idle_since < IDLE_SECONDS:
                break
            resting.append(run)
        for run in resting:
            run.rest()


class Places:
    """One timer for everyone who waits, and only while someone does."""

    def __init__(self, backlog: Backlog) -> None:
        self._backlog = backlog
        self._pools: dict[Runtime, Pool] = {}
        self._timer: asyncio.TimerHandle | None = None

    def count_waiting(self) -> int:
        """Runs that want a sandbox."""
        return sum(pool.wanted for pool in self._pools.values())

    def pool(self, runtime: Runtime) -> Pool:
        found = self._pools.get(runtime)
        if found is None:
            found = self._pools[runtime] = Pool()
        return found

    def opener(self, runtime: Runtime, lane: Lane) -> Opener:
        pool = self.pool(runtime)

        async def open_sandbox() -> Sandbox:
            pool.wanted += 1
            self._backlog.enter(lane)
            self._watch()
            try:
                return await runtime.open()
            finally:
                pool.wanted -= 1
                self._backlog.leave(lane)

        return open_sandbox

    def _watch(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(ROOM_SECONDS, self._look)

    def _look(self) -> None:
        self._timer = None
        now = monotonic()
        for pool in self._pools.values():
            if pool.wanted:
                pool.make_room(now)
                self._watch()
