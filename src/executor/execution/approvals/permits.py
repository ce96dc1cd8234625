"""What humans have decided earlier in an execution: read once a run, and again when a decision comes in."""

from __future__ import annotations

from executor.model.event import Announcement
from executor.model.execution import Execution
from executor.storage.database import Database
from executor.storage.executions import permits
from executor.storage.executions.permits import Standing
from executor.storage.feed import Feed

KEPT = 1_000
DECISIONS = ("interaction.approved", "interaction.denied", "execution.completed", "execution.failed")


class Permits:
    """A call that asks pays for one read of its execution's decisions; one that need not ask pays nothing."""

    def __init__(self, database: Database, feed: Feed) -> None:
        self._database = database
        self._known: dict[str, Standing] = {}
        self._changes = 0
        feed.listen(self._forget)

    async def of(self, execution: Execution) -> Standing:
        known = self._known.get(execution.id)
        while known is None:
            changes = self._changes
            known = await self._database.read(lambda c: permits.of_execution(c, execution.id))
            if changes != self._changes:
                known = None
        if len(self._known) >= KEPT:
            self._known.clear()
        self._known[execution.id] = known
        return known

    def _forget(self, announcement: Announcement) -> None:
        if announcement.type in DECISIONS:
            self._changes += 1
            self._known.pop(announcement.execution_id, None)
