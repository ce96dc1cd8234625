"""Executions that wait for their turn as rows: in memory there is only an id of each.

Each actor has a few runs of each runtime and priority in memory that wait for a sandbox. The next of its executions is
taken up when one of them has got its sandbox, so the cost of a long queue falls on no one, and no actor waits behind
another's queue. Where a limit says how many may run, it is also taken up only when another has ended.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from random import SystemRandom

from executor.execution.typecheck import Ruling
from executor.execution.use_limits import Running
from executor.model import shares
from executor.model.execution import Execution
from executor.model.fairness import Counts, Lane
from executor.model.use_limits import RANKS

STANDBY = 64

BeginCheck = Callable[[Execution], asyncio.Task[Ruling] | None]


def lane_of(execution: Execution) -> Lane:
    return Lane(execution.actor_id, execution.runtime, execution.workspace_id, RANKS[execution.priority])


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
    """`take_up` is called with the next of an actor; it then counts as on standby until `leave` is called for it, and
    in `running` until it is removed from there."""

    def __init__(self, take_up: Callable[[Waiting], None], running: Running) -> None:
        self._take_up = take_up
        self._running = running
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
        return lane not in self._lanes and self._has_room(lane)

    def put(self, waiting: Waiting) -> None:
        self._waiting[waiting.execution_id] = waiting
        self._lanes.setdefault(waiting.lane, deque()).append(waiting)
        self._feed(waiting.lane)

    def enter(self, lane: Lane) -> None:
        self._standby.add(lane)

    def leave(self, lane: Lane) -> None:
        self._standby.remove(lane)
        if lane not in self._lanes:
            return
        if self._running.bounds(lane).is_bound:
            self.feed_workspace(lane.workspace_id)
        else:
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

    def feed_workspace(self, workspace_id: str) -> None:
        """One of its executions has ended. Of those that a limit held back, the best priority is next, and actors have
        their shares."""
        lanes = [lane for lane in self._lanes if lane.workspace_id == workspace_id]
        while not self._closed and (ready := [lane for lane in lanes if lane in self._lanes and self._has_room(lane)]):
            self._feed(self._draw(ready), most=1)

    def feed_all(self) -> None:
        """Limits may have changed."""
        for workspace_id in {lane.workspace_id for lane in self._lanes}:
            self.feed_workspace(workspace_id)

    def _draw(self, ready: list[Lane]) -> Lane:
        """As in cluster dispatch. Runtimes of one actor are drawn like actors."""
        waiting = [
            shares.Waiting(lane.workspace_id, str(place), 1, lane.rank, weight=self._running.bounds(lane).actor.weight)
            for place, lane in enumerate(ready)
        ]
        (drawn,) = shares.share(waiting, 1, SystemRandom())
        return ready[int(drawn.actor_id)]

    def _has_room(self, lane: Lane) -> bool:
        running = self._running
        return self._standby[lane] < STANDBY and (running.limits.are_default or running.may_add(lane))

    def _feed(self, lane: Lane, most: int = STANDBY) -> None:
        queue = self._lanes.get(lane)
        while queue and not self._closed and (queue[0].dropped or (most and self._has_room(lane))):
            waiting = queue.popleft()
            if not waiting.dropped:
                most -= 1
                self.enter(lane)
                self._running.add(lane)
                self._take_up(waiting)
        if not queue:
            self._lanes.pop(lane, None)
