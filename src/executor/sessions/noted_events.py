"""Events of what an agent can do many times a second: each is counted, and like ones are written together."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter

from sqlalchemy.engine import Connection

from executor.errors import StorageError
from executor.sessions.party import SessionParty
from executor.storage.database import Database
from executor.storage.executions import events

FLUSH_SECONDS = 1.0
MOST_KINDS = 200  # of different ones in one flush; the rest is counted as one
Data = tuple[tuple[str, str | int], ...]

logger = logging.getLogger(__name__)


class NotedEvents:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._noted: Counter[tuple[SessionParty, str, Data]] = Counter()
        self._flushing: asyncio.Task[None] | None = None

    def note(self, party: SessionParty, type: str, **data: str | int) -> None:
        """Written within a second; `close` writes what is left."""
        key = (party, type, tuple(data.items()))
        if key not in self._noted and len(self._noted) >= MOST_KINDS:
            key = (party, type, (("reason", "too many different ones"),))
        self._noted[key] += 1
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush_later())

    async def flush(self) -> None:
        noted, self._noted = self._noted, Counter()
        if not noted:
            return

        def job(c: Connection) -> None:
            for (party, type, data), count in noted.items():
                content = {"sessionId": party.session_id, **dict(data), "count": count}
                events.append(c, party.workspace_id, type, content, by=party.author)

        try:
            await self._database.write(job)
        except StorageError as error:
            logger.error("events of sessions could not be written: %s", error.message)

    async def close(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
        await self.flush()

    async def _flush_later(self) -> None:
        await asyncio.sleep(FLUSH_SECONDS)
        await self.flush()
