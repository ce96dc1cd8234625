"""The policies in force, kept in memory and dropped the moment a change is committed."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.engine import Connection

from executor.model.event import Announcement
from executor.model.policy import Policy
from executor.policy.visibility import Visibility, visibility
from executor.storage import policies
from executor.storage.database import Database
from executor.storage.notify import Feed


@dataclass(frozen=True, slots=True)
class Ruleset:
    revision: int
    policies: tuple[Policy, ...]


class Rules:
    def __init__(self, database: Database, feed: Feed) -> None:
        self._database = database
        self._known: dict[str, Ruleset] = {}
        self._changes = 0
        feed.listen(self._forget)

    async def of(self, workspace_id: str) -> Ruleset:
        while (known := self._known.get(workspace_id)) is None:
            changes = self._changes
            known = await self._database.read(lambda c: read_rules(c, workspace_id))
            if changes == self._changes:
                self._known[workspace_id] = known
        return known

    async def veil(self, workspace_id: str) -> Visibility | None:
        """What the policies in force keep from being found."""
        return visibility((await self.of(workspace_id)).policies)

    def _forget(self, announcement: Announcement) -> None:
        if announcement.type.startswith("policy."):
            self._changes += 1
            self._known.pop(announcement.workspace_id, None)


def read_rules(c: Connection, workspace_id: str) -> Ruleset:
    return Ruleset(policies.revision(c, workspace_id), tuple(policies.in_force(c, workspace_id)))
