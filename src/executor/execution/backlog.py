"""Executions that wait for their turn as rows: in memory there is only an id of each.

Each actor has a few runs of each runtime in memory that wait for a sandbox. The next of its executions is taken up when
one of them has got its sandbox, so the cost of a long queue falls on no one, and no actor waits behind another's queue.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from executor.execution.typecheck import Ruling
from executor.model.execution import Execution
from executor.model.fairness import Counts

STANDBY = 64

Lane = tuple[str, str]  # an actor and a runtime
BeginCheck = Callable[[Execution], asyncio.Task[Ruling] | None]


@dataclass(eq=False, slots=True)
class Waiting:
    """`left_behind` by an earlier process. It is `dropped` when it no longer waits, for whatever reason."""

    execution_id: str
    lane: Lane
    begin_check: BeginCheck | None = None
    left_behind: bool = False
    dropped: bool = False
    _drop_event: asyncio.Event | None = None

    @property
    def drop_event(self) -> asyncio.Event:
        """Set when it is dropped. Few are waited for, and an event is large."""
        if self._drop_event is None:
            self._drop_event = asyncio.Event()
        if self.dropped:
            self._drop_event.set()
        return self._drop_event


class Backlog:
    """`take_up` is called with the next of an actor; it then counts as on standby until `leave` is called for it."""

    def __init__(self, take_up: Callable[[Waiting], None]) -> None:
        self._take_up = take_up
        self._standby: Counts[Lane] = Counts()
        self._lanes: dict[Lane, deque[Waiting]] = {}
        self._waiting: dict[str, Waiting] = {}
        self._closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def get(self, execution_id: str) -> Waiting | None:
        return self._waiting.get(execution_id)

    def admits(self, lane: Lane) -> bool:
        """Whether one more may wait in memory: never ahead of those that came before it."""
        return lane not in self._lanes and self._standby[lane] < STANDBY

    def put(self, waiting: Waiting) -> None:
        self._waiting[waiting.execution_id] = waiting
        self._lanes.setdefault(waiting.lane, deque()).append(waiting)
        self._feed(waiting.lane)

    def enter(self, lane: Lane) -> None:
        self._standby.add(lane)

    def leave(self, lane: Lane) -> None:
        self._standby.remove(lane)
        self._feed(lane)

    def forget(self, waiting: Waiting) -> None:
        """It runs now, or never will."""
        waiting.dropped = True
        self._waiting.pop(waiting.execution_id, None)
        if waiting._drop_event is not None:
            waiting._drop_event.set()

    def close(self) -> None:
        """The rows are left to the next start."""
        self._closed = True
        self._lanes.clear()
        for waiting in list(self._waiting.values()):
            self.forget(waiting)

    def _feed(self, lane: Lane) -> None:
        queue = self._lanes.get(lane)
        while queue and not self._closed and (queue[0].dropped or self._standby[lane] < STANDBY):
            waiting = queue.popleft()
            if not waiting.dropped:
                self.enter(lane)
                self._take_up(waiting)
        if not queue:
            self._lanes.pop(lane, None)
