"""Who holds a sandbox. A run that only waits gives its place up when another needs one, and replays later."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

from executor.execution.backlog import Backlog
from executor.execution.runs.run import Run
from executor.model.fairness import Lane
from executor.runtime.protocol import LaunchingRuntime, Program, Runtime, Sandbox
from executor.telemetry import tracer

ROOM_SECONDS = 0.05
IDLE_SECONDS = 0.1


class Pool:
    """The places of one runtime: how many runs want one, and which hold one idly, those that wait longest first."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.launcher = runtime if isinstance(runtime, LaunchingRuntime) else None
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


class Opening:
    """How a run gets a sandbox: the one that was launched for it, and whenever it needs another, one of those free.
    `on_ask` is called each time."""

    def __init__(self, places: Places, pool: Pool, lane: Lane, launched: Sandbox | None) -> None:
        self._places, self._pool, self._lane = places, pool, lane
        self.launched = launched
        self.on_ask: Callable[[], None] | None = None

    async def __call__(self) -> Sandbox:
        if self.on_ask is not None:
            self.on_ask()
        launched, self.launched = self.launched, None
        return launched if launched is not None else await self._places.open(self._pool, self._lane)


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
            found = self._pools[runtime] = Pool(runtime)
        return found

    def opening(self, pool: Pool, lane: Lane, program: Program) -> Opening:
        """For one run. Its program is sent ahead if there is a place: what is left to do meanwhile delays nothing."""
        launched = pool.launcher.launch(program) if pool.launcher is not None and not tracer.is_on() else None
        return Opening(self, pool, lane, launched)

    async def open(self, pool: Pool, lane: Lane) -> Sandbox:
        pool.wanted += 1
        self._backlog.enter(lane)
        self._watch()
        try:
            return await pool.runtime.open()
        finally:
            pool.wanted -= 1
            self._backlog.leave(lane)

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
