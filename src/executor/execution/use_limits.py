"""Which limits are in force for whom, and whether one more execution may be submitted or run."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from sqlalchemy.engine import Connection

from executor.errors import Forbidden, LimitReached, StorageError
from executor.model.event import Announcement
from executor.model.execution import Execution
from executor.model.fairness import Counts, Lane
from executor.model.identity.actor import Actor
from executor.model.ids import now_ms
from executor.model.use_limits import RANKS, UNBOUND, Bounds, ChosenLimits, LimitName, Priority, UseLimits
from executor.storage.database import Database
from executor.storage.executions import usage
from executor.storage.feed import Feed
from executor.storage.identity import use_limits

CHANGED = "limits.changed"
MINUTE_MS = 60_000
NONE = ChosenLimits()

logger = logging.getLogger(__name__)


class LimitsInForce:
    """What was chosen, in memory, over `defaults`. `on_change` is called when it may have changed."""

    def __init__(self, database: Database, feed: Feed | None = None, defaults: Bounds = UNBOUND) -> None:
        self._database = database
        self.defaults = UNBOUND if defaults == UNBOUND else defaults
        self.on_change: list[Callable[[], None]] = []
        self._chosen: dict[tuple[str, str], ChosenLimits] = {}
        self.are_default = self.defaults is UNBOUND  # no one has a limit, a weight or a priority of their own
        self._loading: asyncio.Task[None] | None = None
        self._changes = 0
        if feed is not None:
            feed.listen(self._hear, self._load_later)

    def of(self, workspace_id: str, actor_id: str) -> Bounds:
        if not self._chosen:
            return self.defaults
        workspace = self._chosen.get((workspace_id, ""), NONE).over(self.defaults.workspace)
        return Bounds(workspace, self._chosen.get((workspace_id, actor_id), NONE).over(self.defaults.actor))

    async def load(self) -> None:
        changes = -1
        while changes != self._changes:  # what was read during a change may be old
            changes = self._changes
            found = await self._database.read(use_limits.everywhere)
        if found != self._chosen:
            self._chosen = found
            self.are_default = self.defaults is UNBOUND and not found
            for call in self.on_change:
                call()

    def _hear(self, announcement: Announcement) -> None:
        if announcement.type == CHANGED:
            self._load_later()

    def _load_later(self) -> None:
        self._changes += 1
        if self._loading is None or self._loading.done():
            self._loading = asyncio.get_running_loop().create_task(self._load_quietly())

    async def _load_quietly(self) -> None:
        with suppress(StorageError):  # the next look for changes tries again
            await self.load()


class Running(Counts[Lane]):
    """How many executions run in this process, and whether one more may. Each is counted by its task, or by the one
    that is about to start it."""

    def __init__(self, limits: LimitsInForce) -> None:
        super().__init__()
        self.limits = limits

    def bounds(self, lane: Lane) -> Bounds:
        return self.limits.of(lane.workspace_id, lane.actor_id)

    def may_add(self, lane: Lane) -> bool:
        """Summed up only where there is a limit."""
        bounds = self.bounds(lane)
        workspace, actor = bounds.workspace.running, bounds.actor.running
        if workspace and workspace <= sum(n for one, n in self.items() if one.workspace_id == lane.workspace_id):
            return False
        return not actor or actor > sum(n for one, n in self.items() if one.actor_id == lane.actor_id)


def choose_priority(actor: Actor, bounds: Bounds, wanted: Priority | None) -> Priority:
    """Administrators may use any. Of anyone else, it is at most what was chosen for that actor: an agent can't overtake
    people unless someone allowed it."""
    highest = bounds.actor.priority
    if wanted is None:
        return max("normal", highest, key=RANKS.__getitem__)
    if RANKS[wanted] < RANKS[highest] and not actor.may("administer"):
        raise Forbidden(
            f"permission denied: the highest priority of this actor's executions is {highest}, not {wanted}",
            hint="leave the priority out, or ask an administrator to allow it: `executor limits set`",
        )
    return wanted


def admit(c: Connection, execution: Execution, bounds: Bounds, *, counts_owned: bool) -> Execution:
    """In the transaction that inserts it. Raises if one more is too many; queued if it can't run now.

    `counts_owned` where several processes run executions. Elsewhere the one process knows what it runs.
    """
    usage.lock_workspaces(c, (execution.workspace_id,))
    mine = ((bounds.actor, "actor", execution.actor_id), (bounds.workspace, "workspace", ""))
    for limits, of, actor_id in mine:
        _check_rate(c, execution, limits, of, actor_id)
    if counts_owned and execution.status == "running" and not _may_run(c, execution, bounds):
        execution = replace(execution, status="queued", owner="")
    if execution.status == "queued":
        for limits, of, actor_id in mine:
            _check_queue(c, execution, limits, of, actor_id)
    return execution


def _may_run(c: Connection, execution: Execution, bounds: Bounds) -> bool:
    """Never ahead of those of the same actor that came before."""
    for limits, actor_id in ((bounds.actor, execution.actor_id), (bounds.workspace, "")):
        most = limits.running
        if most and usage.count_owned(c, execution.workspace_id, actor_id, most) >= most:
            return False
    rank = RANKS[execution.priority]
    return not usage.has_queued_before(c, execution.workspace_id, execution.actor_id, rank)


def _check_rate(c: Connection, execution: Execution, limits: UseLimits, of: str, actor_id: str) -> None:
    most = limits.per_minute
    if not most:
        return
    before = usage.find_submission(c, execution.workspace_id, actor_id, most - 1)
    left_ms = 0 if before is None else before + MINUTE_MS - now_ms()
    if left_ms > 0:
        seconds = min(60, math.ceil(left_ms / 1000))
        raise _limit_reached("perMinute", of, most, f"submitted {_count(most)} within a minute", seconds=seconds)


def _check_queue(c: Connection, execution: Execution, limits: UseLimits, of: str, actor_id: str) -> None:
    most = limits.queued
    if most and usage.count_queued(c, execution.workspace_id, actor_id, most) >= most:
        raise _limit_reached("queued", of, most, f"has {_count(most)} queued")


def _count(executions: int) -> str:
    return f"{executions} execution{'s' if executions != 1 else ''}"


def _limit_reached(limit: LimitName, of: str, most: int, what: str, **details: int) -> LimitReached:
    when = f"in {details['seconds']} seconds" if details else "when some of them have started"
    return LimitReached(
        f"this {of} {what}, which is its limit; nothing was started",
        hint=f"try again {when}; `executor limits list` shows the limits",
        limit=limit,
        of=of,
        most=most,
        **details,
    )
