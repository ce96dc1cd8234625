"""A bound on how much people can be asked: per execution and per actor. What goes beyond is refused, never queued."""

from __future__ import annotations

import asyncio
from collections import Counter

from executor.dataclass import dataclass
from executor.errors import ToolError
from executor.model.event import ENDINGS, Announcement
from executor.model.execution import Execution
from executor.model.fairness import Counts
from executor.storage.database import Database
from executor.storage.executions import interactions
from executor.storage.feed import Feed

CHANGES = {
    "interaction.requested": 1,
    "interaction.approved": -1,
    "interaction.denied": -1,
    "interaction.expired": -1,
    "interaction.cancelled": -1,
}
TRIES = 10  # to read a count that nothing changed meanwhile


@dataclass(frozen=True, slots=True)
class ApprovalLimits:
    execution: int
    actor: int


class OpenApprovals:
    """Counts what is open. An approval counts from the moment it is considered, so that many at once can't slip by.

    An actor's open approvals are read once, when the first is added. From then on each event changes the count by one.
    """

    def __init__(self, database: Database, feed: Feed, limits: ApprovalLimits) -> None:
        self._database = database
        self._limits = limits
        self._open: Counter[str] = Counter()
        self._counting: dict[str, asyncio.Task[None]] = {}
        self._actors: dict[str, str] = {}  # of the executions that have asked and not ended
        self._here: Counter[str] = Counter()  # open approvals of each of them
        self._coming: Counts[str] = Counts()
        self._unheeded = 0
        feed.listen(self._hear, self._forget)

    async def admit(self, execution: Execution, open_here: int) -> ToolError | None:
        """None when one more may be asked; then `note_written` must be called once it is written, or can't be."""
        if open_here >= self._limits.execution:
            return too_many(f"this execution already has {open_here}")
        await self._begin_count(execution)
        present = self._open[execution.actor_id] + self._coming[execution.actor_id]
        if present >= self._limits.actor:
            return too_many(f"this actor's executions already have {present}")
        self._coming.add(execution.actor_id)
        return None

    def note_written(self, actor_id: str, count: int) -> None:
        self._coming.remove(actor_id, count)

    async def expect(self, execution: Execution) -> None:
        """Before an approval of an execution is requested: from now on its events are counted."""
        await self._begin_count(execution)
        self._actors[execution.id] = execution.actor_id

    async def _begin_count(self, execution: Execution) -> None:
        """Once per actor, however many of its executions ask at the same time."""
        actor_id = execution.actor_id
        counting = self._counting.get(actor_id)
        if counting is None or (counting.done() and counting.exception() is not None):
            counting = self._counting[actor_id] = asyncio.create_task(self._count(execution.workspace_id, actor_id))
        if not counting.done():
            await asyncio.shield(counting)

    async def _count(self, workspace_id: str, actor_id: str) -> None:
        for _ in range(TRIES):
            unheeded = self._unheeded
            found = await self._database.read(lambda c: interactions.open_by_execution(c, workspace_id, actor_id))
            if unheeded == self._unheeded:
                break
        for execution_id, count in found:
            self._actors[execution_id], self._here[execution_id] = actor_id, count
            self._open[actor_id] += count

    def _forget(self) -> None:
        """Other processes may have changed the counts: the next request reads them."""
        for counts in (self._open, self._counting, self._actors, self._here):
            counts.clear()

    def _hear(self, announcement: Announcement) -> None:
        execution_id, change = announcement.execution_id, CHANGES.get(announcement.type, 0)
        actor_id = self._actors.get(execution_id)
        if actor_id is None:
            self._unheeded += bool(change)
        elif change:
            self._open[actor_id] += change
            self._here[execution_id] += change
        elif announcement.type in ENDINGS:
            self._open[actor_id] -= self._here.pop(execution_id, 0)
            del self._actors[execution_id]


def too_many(why: str) -> ToolError:
    hint = "wait until some are decided, or send fewer, larger calls"
    return ToolError("too_many_approvals", f"too many pending approvals: {why}", hint=hint, retryable=True)
