"""Statements of a transaction that travel together, since a round trip to the server costs more than most statements.

`Prepared.send` leaves a statement here whose result decides nothing but whether the transaction may be committed. It
goes out with the next one whose result is needed, or before the COMMIT; then what came back is checked. Each statement
still sees all that was committed before it began, so one behind a lock sees what the lock waited for.

Events go out last, with the COMMIT itself: the lock on their chain is held for no round trip at all. Where only calls
progress, it is not even held until the server's disk has them: see docs/decisions/audit-chain.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from executor.dataclass import dataclass
from executor.storage.postgres import sealed_events
from executor.storage.postgres.url import driver

READ_WRITE = "BEGIN"
FLUSH = "SELECT pg_logical_emit_message(true, 'executor', '')"  # writes nothing but a note into the server's log
READ_ONLY = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
IDLE = 0  # libpq's: no transaction has begun
Check = Callable[[Any], None]


class Unconfirmed(Exception):
    """It is committed, but the server's disk may not have it."""


@dataclass(frozen=True, slots=True)
class Waiting:
    job: int
    statement: str
    values: Mapping[str, Any]
    check: Check | None

    def send(self, raw: Any) -> Any:
        return raw.cursor().execute(self.statement, self.values)


class Pipeline:
    """Of one transaction. `job` is the place of the job in its group that adds to it. `is_used` once any statement was
    left here. If it is `brief`, others may append to the chain while the server's disk writes this transaction."""

    def __init__(self, raw: Any, chained: set[str], *, opening: str = READ_WRITE, is_brief: bool = False) -> None:
        self._raw = raw
        self._settings = opening.split("; ")[1:]
        self._is_brief = is_brief
        self.chained = chained  # workspaces whose chain has begun
        self._waiting: list[Waiting] = []
        self._events: dict[str, list[dict[str, Any]]] = {}
        self.job = 0
        self._failed_job: int | None = None
        self.is_used = False

    def add(self, statement: str, values: Mapping[str, Any], check: Check | None = None) -> None:
        self.is_used = True
        self._waiting.append(Waiting(self.job, statement, values, check))

    def append_events(self, workspace_id: str, rows: Sequence[dict[str, Any]]) -> None:
        self.is_used = True
        self._events.setdefault(workspace_id, []).extend(rows)

    def flush(self) -> None:
        """Before the COMMIT: what must be known about the statements that wait. Those without a check wait on."""
        if any(one.check is not None for one in self._waiting):
            try:
                self.run(lambda: None)
            except driver().Error as error:
                raise dbapi_error(error, self._raw) from error

    def run(self, last: Callable[[], Any]) -> None:
        """Everything that waits, then `last`, which may need what they change: in one round trip."""
        waiting, self._waiting = self._waiting, []
        sent: list[Any] = []
        try:
            with open_pipeline(self._raw, READ_WRITE):
                sent.extend(one.send(self._raw) for one in waiting)
                last()
        except driver().Error:
            # A statement that failed has no result, nor has any behind it.
            results = [*(cursor.pgresult for cursor in sent), *[None] * (len(waiting) - len(sent))]
            jobs = [one.job for one, result in zip(waiting, results, strict=True) if result is None]
            self._failed_job = next(iter(jobs), self.job)
            raise
        for one, cursor in zip(waiting, sent, strict=True):
            self._failed_job = one.job
            if one.check is not None:
                one.check(cursor)
        self._failed_job = None

    def run_before(self, execute: Callable[[], Any]) -> None:
        """A statement whose result is needed now, and may depend on events of this transaction."""
        events, self._events = self._events, {}

        def last() -> None:
            self._send_events(events)
            execute()

        self.run(last)

    def commit(self) -> None:
        """Nothing is committed if any of it fails. It has ended only when the server's disk has it."""
        committed = self._raw.cursor()

        def last() -> None:
            self._send_events(self._events)
            committed.execute("COMMIT")

        if self._is_brief and self._events:
            self._commit_briefly()
            return
        self.run(last)
        check_commit(committed)

    def _commit_briefly(self) -> None:
        """A second transaction, in the same round trip, waits until the server's disk has both."""
        committed, confirmed = self._raw.cursor(), self._raw.cursor()

        def last() -> None:
            self._send_events(self._events, briefly=True)
            committed.execute("COMMIT AND CHAIN")
            for statement in (*self._settings, FLUSH):
                self._raw.cursor().execute(statement)
            confirmed.execute("COMMIT")

        try:
            self.run(last)
            check_commit(committed)
            check_commit(confirmed)
        except driver().Error as error:
            if committed.pgresult is not None and committed.statusmessage == "COMMIT":
                raise Unconfirmed from error
            raise

    @property
    def blamed_job(self) -> int:
        """The one whose statement or check failed, or else the one that is running."""
        return self.job if self._failed_job is None else self._failed_job

    @property
    def is_empty(self) -> bool:
        return not (self._waiting or self._events)

    def _send_events(self, events: dict[str, list[dict[str, Any]]], *, briefly: bool = False) -> None:
        for workspace_id in sorted(events):  # everyone locks chains in this order
            sealed_events.send(self._raw, workspace_id, events[workspace_id], briefly=briefly)


def check_commit(cursor: Any) -> None:
    if cursor.statusmessage != "COMMIT":
        raise driver().InternalError(f"COMMIT was answered with {cursor.statusmessage}")


def is_idle(raw: Any) -> bool:
    """No transaction has begun."""
    return bool(raw.info.transaction_status == IDLE)


@contextmanager
def open_pipeline(raw: Any, opening: str) -> Iterator[None]:
    """Send the statements within it together, after those of `opening` if no transaction has begun."""
    begins = is_idle(raw)
    if begins and not raw.autocommit:
        raw.autocommit = True  # else psycopg begins the transaction itself, in a round trip of its own
    with raw.pipeline():
        for statement in opening.split("; ") if begins else ():
            raw.cursor().execute(statement)
        yield


def install(engine: Engine) -> None:
    """Transactions of connections with the option `opening` begin with their first statement, in the same round trip.
    `pipeline` in such a connection's `info` has what waits for the next statement or the COMMIT."""

    @event.listens_for(engine, "do_execute")
    def execute(cursor: Any, statement: str, parameters: Any, context: Any) -> bool:
        return send_with(context.root_connection, cursor, lambda: cursor.execute(statement, parameters))

    @event.listens_for(engine, "do_execute_no_params")
    def execute_plainly(cursor: Any, statement: str, context: Any) -> bool:
        return send_with(context.root_connection, cursor, lambda: cursor.execute(statement))

    @event.listens_for(engine, "do_executemany")
    def execute_many(cursor: Any, statement: str, parameters: Any, context: Any) -> bool:
        return send_with(context.root_connection, cursor, lambda: cursor.executemany(statement, parameters))

    def commit(connection: Any) -> None:
        pipeline: Pipeline | None = connection.info.get("pipeline")
        if pipeline is None or pipeline.is_empty:
            connection.commit()
        else:
            pipeline.commit()

    engine.dialect.do_commit = commit  # type: ignore[assignment,method-assign]


def send_with(connection: Connection, cursor: Any, execute: Callable[[], Any]) -> bool:
    """False if nothing goes with it: it is executed as ever."""
    raw = cursor.connection
    opening = connection.get_execution_options().get("opening", READ_WRITE if raw.autocommit else None)
    if opening is None:
        return False
    pipeline: Pipeline | None = connection.info.get("pipeline")
    if isinstance(cursor, driver().ServerCursor):  # which needs a round trip of its own anyway
        if pipeline is not None:
            pipeline.run_before(lambda: None)
        elif is_idle(raw):
            with open_pipeline(raw, opening):
                pass
        return False
    if pipeline is not None and not pipeline.is_empty:
        pipeline.run_before(execute)
    elif is_idle(raw):
        with open_pipeline(raw, opening):
            execute()
    else:
        return False
    return True


def dbapi_error(error: Any, raw: Any) -> Exception:
    """As SQLAlchemy wraps what its own statements raise."""
    wrapped = DBAPIError.instance(
        None, None, error, driver().Error, hide_parameters=True, connection_invalidated=bool(raw.closed)
    )
    return wrapped if isinstance(wrapped, Exception) else error
