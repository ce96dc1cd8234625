"""What humans have decided earlier in an execution: read once a run, and again when a decision comes in."""

from __future__ import annotations

from executor.model.event import ENDINGS
from executor.storage.database import Database
from executor.storage.executions import permits
from executor.storage.executions.permits import Decisions
from executor.storage.feed import Feed
from executor.storage.read_cache import ReadCache


class Permits(ReadCache[str, Decisions]):
    """By execution. A call that asks pays for one read of its decisions; one that need not ask pays nothing."""

    def __init__(self, database: Database, feed: Feed) -> None:
        super().__init__(database, permits.of_execution)
        decisions = ("interaction.approved", "interaction.denied", *ENDINGS)
        self.drop_on(feed, decisions, lambda announcement: announcement.execution_id)
