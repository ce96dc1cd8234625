"""What work waits for: processors, and the writes of one process. Times are milliseconds."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

GROUP = 50  # writes that share a transaction, as in storage/postgres/lane.py


class Clock:
    """Acts happen in the order of their times."""

    def __init__(self) -> None:
        self.now = 0.0
        self._acts: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()

    def at(self, time: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._acts, (time, next(self._number), act))

    def run(self, until: float, most: int) -> None:
        for _ in range(most):
            if not self._acts or self._acts[0][0] > until:
                self.now = until if not self._acts else self._acts[0][0]
                return
            self.now, _, act = heapq.heappop(self._acts)
            act()


class Processors:
    """Some processors with one queue. `speed` below 1: other programs have the rest."""

    def __init__(self, clock: Clock, number: int, speed: float = 1.0) -> None:
        self._clock = clock
        self._free = [0.0] * number
        self._speed = speed
        self.busy = 0.0
        self.begun = 0.0

    def use(self, cpu: float) -> float:
        """When it is done."""
        start = max(self._clock.now, heapq.heappop(self._free))
        end = start + cpu / self._speed
        heapq.heappush(self._free, end)
        self.busy += cpu
        return end

    def reset(self) -> None:
        self.busy, self.begun = 0.0, self._clock.now

    @property
    def utilization(self) -> float:
        return self.busy / self._speed / len(self._free) / max(1e-9, self._clock.now - self.begun)


class Chains:
    """The head of each workspace's audit log: one transaction at a time has it, until it is committed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._free: dict[int, float] = {}
        self.held: dict[int, float] = {}
        self.waited = 0.0
        self.begun = 0.0

    def hold(self, workspaces: set[int], time: float, length: float) -> float:
        """A transaction needs the heads of all its workspaces at the same time."""
        start = max([time, *(self._free.get(one, 0.0) for one in workspaces)])
        self.waited += start - time
        for one in workspaces:
            self._free[one] = start + length
            self.held[one] = self.held.get(one, 0.0) + length
        return start + length

    def reset(self) -> None:
        self.held, self.waited, self.begun = {}, 0.0, self._clock.now

    @property
    def utilization(self) -> float:
        """Of the busiest one."""
        return max(self.held.values(), default=0.0) / max(1e-9, self._clock.now - self.begun)

    def waiting(self, lanes: int) -> float:
        """The part of the time that lanes wait for a head."""
        return self.waited / lanes / max(1e-9, self._clock.now - self.begun)


class Lane:
    """The journal of one process: a transaction at a time; what arrives meanwhile shares the next one."""

    def __init__(
        self,
        clock: Clock,
        chains: Chains,
        trip: float,
        flush: float,
        *,
        prepare: Callable[[], float],
        serve: Callable[[float], float],
    ) -> None:
        """`prepare` is the process's own work for a transaction, `serve` the server's for its writes: each says when it
        is done."""
        self._clock, self._chains, self._trip, self._flush = clock, chains, trip, flush
        self._prepare, self._serve = prepare, serve
        self._waiting: list[tuple[float, int, Callable[[], None]]] = []
        self._is_busy = False

    def write(self, cpu: float, workspace: int, then: Callable[[], None]) -> None:
        self._waiting.append((cpu, workspace, then))
        if not self._is_busy:
            self._begin()

    def _begin(self) -> None:
        self._is_busy = True
        group, self._waiting = self._waiting[:GROUP], self._waiting[GROUP:]
        self._clock.at(self._prepare() + self._trip / 2, lambda: self._arrive(group))

    def _arrive(self, group: list[tuple[float, int, Callable[[], None]]]) -> None:
        ready = self._serve(sum(cpu for cpu, _, _ in group))
        done = self._chains.hold({workspace for _, workspace, _ in group}, ready, self._trip + self._flush)
        self._clock.at(done + self._trip / 2, lambda: self._end(group))

    def _end(self, group: list[tuple[float, int, Callable[[], None]]]) -> None:
        self._is_busy = False
        for _, _, then in group:
            then()
        if self._waiting and not self._is_busy:
            self._begin()
