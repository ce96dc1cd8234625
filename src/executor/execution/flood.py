"""A bound on how much people can be asked: per execution and per actor. What goes beyond is refused, never queued."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from executor.errors import ToolError
from executor.model.event import Announcement
from executor.model.execution import Execution
from executor.storage import interactions
from executor.storage.database import Database
from executor.storage.notify import Feed


@dataclass(frozen=True, slots=True)
class ApprovalLimits:
    execution: int
    actor: int


class Flood:
    """Counts what is open. A question counts from the moment it is thought of, so that many at once can't slip by."""

    def __init__(self, database: Database, feed: Feed, limits: ApprovalLimits) -> None:
        self._database = database
        self._limits = limits
        self._open: dict[str, int] = {}
        self._coming: Counter[str] = Counter()
        self._changes = 0
        feed.listen(self._forget)

    async def admit(self, execution: Execution, open_here: int) -> ToolError | None:
        """None when one more may be asked; then `arrived` must be called once it is written, or can't be."""
        if open_here >= self._limits.execution:
            return too_many(f"this execution already waits for {open_here} decisions")
        present = await self._count(execution) + self._coming[execution.actor_id]
        if present >= self._limits.actor:
            return too_many(f"this actor's executions already wait for {present} decisions")
        self._coming[execution.actor_id] += 1
        return None

    def arrived(self, actor_id: str, count: int) -> None:
        self._coming[actor_id] -= count
        if self._coming[actor_id] <= 0:
            del self._coming[actor_id]

    async def _count(self, execution: Execution) -> int:
        workspace_id, actor_id, most = execution.workspace_id, execution.actor_id, self._limits.actor
        while (known := self._open.get(actor_id)) is None:
            changes = self._changes
            known = await self._database.read(lambda c: interactions.count_open(c, workspace_id, actor_id, most))
            if changes == self._changes:
                self._open[actor_id] = known
        return known

    def _forget(self, announcement: Announcement) -> None:
        if announcement.type.startswith("interaction."):
            self._changes += 1
            self._open.clear()


def too_many(why: str) -> ToolError:
    hint = "wait until some are decided; ask for fewer, larger things at a time"
    return ToolError("too_many_approvals", f"nobody is asked about this call: {why}", hint=hint, retryable=True)
