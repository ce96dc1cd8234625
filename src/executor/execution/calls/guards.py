"""What calls are judged under, where several processes share the database.

A judgement is good for the revision that was known before it began. The transaction that journals a call compares that
with the database; if anything has changed, what is remembered is dropped and the call is judged again. So a change
that was answered before the call was journalled is honoured, whether or not this process has heard of it.
"""

from __future__ import annotations

from executor.storage.database import Database
from executor.storage.executions import guards
from executor.storage.feed import Feed


class Guards:
    """By workspace: the revision that everything remembered here is at least as new as."""

    def __init__(self, database: Database, feed: Feed) -> None:
        self._database = database
        self._feed = feed
        self._known: dict[str, int] = {}

    async def current(self, workspace_id: str) -> int:
        known = self._known.get(workspace_id)
        if known is None:
            found = await self._database.read(lambda c: guards.read(c, workspace_id))
            if workspace_id not in self._known:
                self.learn(workspace_id, found)
            known = self._known[workspace_id]
        return known

    def learn(self, workspace_id: str, revision: int) -> None:
        """What was read before may be older: nothing of it is kept."""
        if self._known.get(workspace_id) != revision:
            self._feed.forget_workspace(workspace_id)
            self._known[workspace_id] = revision
