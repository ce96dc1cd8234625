"""Rows kept in memory until a change of them is committed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from sqlalchemy.engine import Connection

from executor.model.event import Announcement
from executor.storage.database import Database
from executor.storage.feed import Feed

KEPT = 1_000
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ReadCache(Generic[K, V]):
    """What `read` found for a key. None is never kept.

    A read can begin before a commit and end after its event: it has seen the old rows, and the event that would drop
    them is over. So every change is counted, and a read during which the count moved is repeated. The feed calls its
    listeners before the writer's own caller continues, so a writer never reads what it has just replaced.
    """

    def __init__(self, database: Database, read: Callable[[Connection, K], V]) -> None:
        self._database = database
        self._read = read
        self._known: dict[K, V] = {}
        self._changes = 0

    async def of(self, key: K) -> V:
        known = self._known.get(key)
        if known is not None:
            return known
        changes = -1
        while changes != self._changes:
            changes = self._changes
            found = await self._database.read(lambda c: self._read(c, key))
        if len(self._known) >= KEPT:
            self._known.clear()
        if found is not None:
            self._known[key] = found
        return found

    def drop_on(self, feed: Feed, types: tuple[str, ...], key_of: Callable[[Announcement], K]) -> None:
        """Drop the key that an event of these types names. A type may be a prefix, such as `policy.`."""

        def hear(announcement: Announcement) -> None:
            if announcement.type.startswith(types):
                self.drop(key_of(announcement))

        feed.listen(hear, self.clear)

    def drop(self, key: K) -> None:
        self._changes += 1
        self._known.pop(key, None)

    def clear(self) -> None:
        self._changes += 1
        self._known.clear()
