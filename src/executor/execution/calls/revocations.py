"""Whether the actor of an execution may still run code: checked before each call and right before it is sent."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import AccessRevoked
from executor.model.event import REVOKING, Announcement
from executor.model.execution import Execution
from executor.storage.database import Database
from executor.storage.feed import Feed
from executor.storage.identity.revocations import find_revocation
from executor.storage.read_cache import ReadCache

RETURNING = ("member.added", "invitation.accepted", "agent.created")  # after which someone may do more than before
KEY = "key_"


class Submitter(NamedTuple):
    workspace_id: str
    actor_id: str
    key_id: str


@dataclass(frozen=True, slots=True)
class Access:
    """`revocation` says why code may no longer run; empty if it may."""

    revocation: str


class Revocations(ReadCache[Submitter, Access]):
    """Read once, and again after anything was revoked. A call pays for one lookup in memory."""

    def __init__(self, database: Database, feed: Feed) -> None:
        super().__init__(database, read_access)
        feed.listen(self._hear, self.clear)

    async def check(self, execution: Execution) -> None:
        """Raises AccessRevoked if the execution may not call anything."""
        submitter = read_submitter(execution.workspace_id, execution.actor_id, execution.origin)
        revocation = (await self.of(submitter)).revocation
        if revocation:
            raise AccessRevoked(
                f"access was revoked after this execution was submitted: {revocation}",
                hint="run the code again with a credential that is valid",
            )

    def _hear(self, announcement: Announcement) -> None:
        if announcement.type in REVOKING or announcement.type in RETURNING:
            self.clear()


@lru_cache(1_000)
def read_submitter(workspace_id: str, actor_id: str, origin: str) -> Submitter:
    key_id = next((part for part in origin.split(" ") if part.startswith(KEY)), "")
    return Submitter(workspace_id, actor_id, key_id)


def read_access(c: Connection, submitter: Submitter) -> Access:
    return Access(find_revocation(c, *submitter))
