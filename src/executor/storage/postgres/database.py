"""`Database` on PostgreSQL: two lanes of writes, each over a session of its own.

The journals of executions have one: they share transactions, so that more of them don't make more commits. Everything
else has the other, and holds no journal up however long it takes. What is in different lanes may be committed in any
order, as by different processes. Reads are one snapshot each.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from executor.errors import DatabaseOutdated, StorageError
from executor.model.event import Announcement
from executor.storage.bounded_reads import took_too_long
from executor.storage.database import Database, Queued, again
from executor.storage.postgres.engine import local_settings
from executor.storage.postgres.failures import CANCELLED, is_lost, sqlstate
from executor.storage.postgres.lane import Lane, Outcome
from executor.storage.postgres.ownership import WriteSession
from executor.storage.postgres.pipeline import FLUSH, READ_ONLY, Pipeline
from executor.storage.postgres.processes import Processes
from executor.storage.postgres.url import TRANSACTION

T = TypeVar("T")
RECONNECT_SECONDS = 10.0
LONGEST_PAUSE = 1.0


class PostgresDatabase(Database):
    """`session` is connected: it has its share of the lock already. The journals' connects when it is used."""

    def __init__(self, engine: Engine, session: WriteSession, processes: Processes) -> None:
        self._first_session = session
        self._opening = f"{READ_ONLY}; SELECT {local_settings(TRANSACTION)}" if session.is_pooled else READ_ONLY
        self.processes: Processes = processes
        super().__init__(engine)

    @property
    def version(self) -> str:
        return f"PostgreSQL {'.'.join(map(str, self.engine.dialect.server_version_info or ()))}"

    def _connect_reader(self) -> Connection:
        return self.engine.connect().execution_options(opening=self._opening)

    def _read(self, job: Callable[[Connection], T]) -> T:
        try:
            return super()._read(job)
        except StorageError as error:
            if not (isinstance(error.__cause__, DBAPIError) and is_lost(error.__cause__)):
                raise
            return super()._read(job)  # a connection of the pool had broken; all of its kind are dropped now

    def _search(self, job: Callable[[Connection], T], seconds: float) -> T:
        def run(c: Connection) -> T:
            c.execute(sa.text(f"SET LOCAL statement_timeout = {max(1, int(seconds * 1000))}"))
            return job(c)

        try:
            return self._read(run)
        except StorageError as error:
            if sqlstate(error.__cause__) == CANCELLED:
                raise took_too_long(seconds) from error
            raise

    async def flush(self) -> None:
        if self._first_session.may_flush:  # else no process writes what is not durable yet
            await self.write(_flush, execution_id="flush", is_progress=True)

    def _compact(self) -> None:
        """Nothing to do: VACUUM is the server's, and old versions of rows stay in its log and its backups."""

    def _start_writing(self) -> None:
        chained: set[str] = set()
        self._others = Lane(self._first_session, self._connect_writer, self._report, chained)
        journals, processes = self._first_session.another(), self.processes
        self._journals = Lane(
            journals, self._connect_writer, self._report, chained, has_company=lambda: processes.has_company
        )

    def _enqueue(self, item: Queued) -> None:
        (self._journals if item.execution_id else self._others).put(item)

    @property
    def queue_length(self) -> int:
        return self._others.length + self._journals.length

    def _stop_writing(self) -> None:
        self._others.close()
        self._journals.close()

    def _report(self, outcomes: list[Outcome], new_events: list[Announcement]) -> None:
        self._note_damage(outcomes)
        self._loop.call_soon_threadsafe(self._finish, outcomes, new_events)

    def _connect_writer(self, session: WriteSession) -> Connection:
        """Waits for a server that restarts. A schema that was changed meanwhile is the end of this process."""
        if self.damage is not None:
            raise again(self.damage)
        ends, pause = time.monotonic() + RECONNECT_SECONDS, 0.05
        while True:
            try:
                return session.connection()
            except DatabaseOutdated as error:
                self.damage = error
                raise
            except StorageError:
                if time.monotonic() > ends or self._closed:
                    raise
            time.sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 2)


def _flush(c: Connection) -> None:
    """The server writes its log in order: what comes after all that was read takes that along."""
    pipeline: Pipeline | None = c.info.get("pipeline")
    if pipeline is not None:
        pipeline.add(FLUSH, {})
    else:
        c.exec_driver_sql(FLUSH)
