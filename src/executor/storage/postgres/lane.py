"""One lane of a process's writes to PostgreSQL: a thread with a session of its own, which commits in order.

What shares a transaction locks its executions first, in one order, so that two lanes, of one process or of two, never
wait for each other in a circle. Writes are READ COMMITTED, so a statement after a lock sees what was committed before
it. A transaction that did not reach its COMMIT is run once more on a new connection; one whose COMMIT got no answer
never is, since it may have happened.
"""

from __future__ import annotations

import queue
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RootTransaction
from sqlalchemy.exc import DBAPIError

from executor.errors import Collision, CommitUnknown, StorageError
from executor.model.event import Announcement
from executor.storage.database import Queued, note_commit, take_waiting
from executor.storage.executions.event_chain import Heads
from executor.storage.executions.guards import Moved
from executor.storage.postgres.failures import LOST_WORDS, is_lost, storage_error
from executor.storage.postgres.ownership import WriteSession, raw
from executor.storage.postgres.pipeline import READ_WRITE, Pipeline, Unconfirmed
from executor.storage.postgres.url import driver
from executor.storage.prepared_statements import Prepared
from executor.storage.tables.core import executions

Outcome = tuple[Queued, Any, BaseException | None]
GROUP = 50
ATTEMPTS = 5
_lock_all = Prepared(
    sa.select(executions.c.id)
    .where(executions.c.id == sa.func.any(sa.bindparam("ids")))
    .order_by(executions.c.id)
    .with_for_update()
)


class Lost(Exception):
    """The connection broke before COMMIT: nothing of the transaction is there."""


class JobFailed(Exception):
    """A transaction whose statements traveled together was undone. `job` is the place of the one that failed."""

    def __init__(self, job: int) -> None:
        self.job = job


class Collided(JobFailed):
    """With another transaction: it may succeed when it is run again as it was."""


class Lane:
    """Its jobs are either of single executions, or any others. `chained` are workspaces whose chain has begun.

    `has_company` says whether other processes write too.
    """

    def __init__(
        self,
        session: WriteSession,
        connect: Callable[[WriteSession], Connection],
        report: Callable[[list[Outcome], list[Announcement]], None],
        chained: set[str],
        has_company: Callable[[], bool] = lambda: False,
    ) -> None:
        self._session = session
        self._connect = connect
        self._report = report
        self._chained = chained
        self._has_company = has_company
        self._queue: queue.SimpleQueue[Queued | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    @property
    def length(self) -> int:
        return self._queue.qsize()

    def put(self, item: Queued) -> None:
        self._queue.put(item)

    def close(self) -> None:
        """When everything that is queued is written."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (group := self._next_group()) is not None:
            began = time.perf_counter()
            outcomes, new_events = self._write_group(group)
            note_commit(began, len(group))
            self._report(outcomes, new_events)
        self._session.drop()

    def _next_group(self) -> list[Queued] | None:
        """Jobs of single executions share a transaction. Any other may lock whatever it likes, so it has one alone."""
        first = self._queue.get()
        if first is None:
            return None
        return take_waiting(self._queue, first, GROUP if first.execution_id else 1)

    def _write_group(self, group: list[Queued]) -> tuple[list[Outcome], list[Announcement]]:
        """In their order. If one fails, those before it and those after it still share a transaction each."""
        outcomes: list[Outcome] = []
        new_events: list[Announcement] = []
        parts = deque([(group, True)])
        while parts:
            part, together = parts.popleft()
            try:
                done, announced = self._insist(part, together=together)
            except JobFailed as failed:
                at = failed.job
                again = [(part[:at], True), (part[at : at + 1], False), (part[at + 1 :], True)]
                parts.extendleft(one for one in reversed(again) if one[0])
            else:
                outcomes += done
                new_events += announced
        return outcomes, new_events

    def _insist(self, group: list[Queued], *, together: bool) -> tuple[list[Outcome], list[Announcement]]:
        """A transaction that met another one, or lost its connection, is run again."""
        failure: BaseException = StorageError(LOST_WORDS[0], hint=LOST_WORDS[1])
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._transact(group, together=together)
            except Lost:
                self._session.drop()
            except Collided as collided:
                if attempt == ATTEMPTS and together:
                    raise
                failure = collided.__cause__ or collided
                time.sleep(random.uniform(0, 0.02 * attempt))  # noqa: S311 - so that the two don't meet again
            except JobFailed:
                raise
            except BaseException as error:  # noqa: BLE001 - the edge of the writer thread: every waiting job gets it
                if isinstance(error, CommitUnknown):
                    self._session.drop()
                return [(item, None, error) for item in group], []
        return [(item, None, failure) for item in group], []

    def _transact(self, group: list[Queued], *, together: bool) -> tuple[list[Outcome], list[Announcement]]:
        """`together`, statements whose results can wait share round trips. Whatever fails then is run again without, so
        that a job finds out at the statement that failed."""
        connection = self._connect(self._session)
        pipeline = self._open_pipeline(connection, group) if together else None
        new_events: list[Announcement] = []
        heads = Heads()
        connection.info.update(new_events=new_events, chains=heads, pipeline=pipeline)
        transaction = connection.begin()
        try:
            self._session.guard(connection)
            values = self._run_jobs(connection, group, pipeline)
            heads.write(connection)
            if pipeline is not None:
                pipeline.flush()
        except BaseException as error:  # noqa: BLE001 - it is raised again
            roll_back(transaction)
            raise_undone(error, pipeline, alone=len(group) == 1)
        try:
            transaction.commit()
        except (DBAPIError, Unconfirmed) as error:
            if isinstance(error, Unconfirmed) or is_lost(error):
                raise CommitUnknown(
                    "the connection to PostgreSQL was lost while a change was saved; whether it was is unknown",
                    hint="look at what is there before you try again",
                ) from error
            roll_back(transaction)
            raise_undone(error, pipeline, alone=len(group) == 1)
        return [(item, value, None) for item, value in zip(group, values, strict=True)], new_events

    def _open_pipeline(self, connection: Connection, group: list[Queued]) -> Pipeline:
        """Without another process there is no one to hurry for."""
        is_brief = self._session.may_flush and self._has_company() and all(item.is_progress for item in group)
        opening = connection.get_execution_options().get("opening", READ_WRITE)
        return Pipeline(raw(connection), self._chained, opening=opening, is_brief=is_brief)

    def _run_jobs(self, connection: Connection, group: list[Queued], pipeline: Pipeline | None) -> list[Any]:
        if len(group) > 1:
            _lock_all.send(connection, {"ids": sorted({item.execution_id for item in group})})
        values = []
        for number, item in enumerate(group):
            if pipeline is not None:
                pipeline.job = number
            values.append(item.job(connection))
            if connection.invalidated:
                raise Lost
        return values


def roll_back(transaction: RootTransaction) -> None:
    """Also one whose COMMIT failed, which is over for SQLAlchemy."""
    connection = transaction.connection
    try:
        transaction.rollback()
        if not connection.invalidated:
            raw(connection).rollback()
    except (DBAPIError, driver().Error) as error:
        raise Lost from error


def raise_undone(error: BaseException, pipeline: Pipeline | None, *, alone: bool) -> NoReturn:
    """What a job alone raises is its failure, unless it took for granted what was not so, or could not notice at which
    of its statements the server refused."""
    failure = error
    if isinstance(error, DBAPIError):
        failure = Lost() if is_lost(error) else storage_error(error)
    job = pipeline.blamed_job if pipeline is not None else 0
    if isinstance(failure, Collision):
        raise Collided(job) from failure
    unnoticed = isinstance(error, DBAPIError | Moved) and pipeline is not None and pipeline.is_used
    if not isinstance(failure, Lost) and (unnoticed or not alone):
        raise JobFailed(job) from error
    if failure is error:
        raise error
    raise failure from error
