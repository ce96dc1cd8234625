"""The database: one writer thread with group commit, and readers beside it.

Everything that is queued while a commit is under way shares the next one; a failing job rolls back alone. Jobs are
committed in the order in which they were queued, so a later job's success says that the earlier ones are durable too.
This is the contract, and SQLite's way to keep it; `executor.storage.postgres` has PostgreSQL's.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

from executor.dataclass import dataclass
from executor.errors import Busy, DatabaseOutdated, DataDirectoryUnusable, StorageDamaged, StorageError, StorageFull
from executor.model.event import Announcement
from executor.storage.bounded_reads import stopping_after, took_too_long
from executor.storage.executions.event_chain import Heads
from executor.storage.integrity import damage_error, is_damage
from executor.telemetry.metrics import COMMITS, WRITES

if TYPE_CHECKING:
    from executor.storage.postgres.processes import Processes
    from executor.storage.start_log import StartLog


# Moving what was written into the database file, beside the writer instead of in one of its commits.
def checkpoint(c: Connection) -> None:
    """For anyone who writes much. Else some commit has to do it, and everything that is queued behind waits.

    It waits for no one and stops no one: what a reader still needs stays where it is.
    """
    if c.dialect.name == "sqlite":
        c.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


T = TypeVar("T")
Job = Callable[[Connection], Any]
GROUP = 256
READERS = 3  # for what is short
SEARCHES = 1  # for what takes a while and has a bound
SEARCH_SECONDS = 5.0
SCANS = 1  # for what reads everything
QUEUED_SCANS = 8
PATIENCE = 0.025  # seconds that a write may wait to share a commit, if no one waits for it
# A checkpoint makes one unlucky commit wait; every 16 MB instead of every 4 is rarer and bounds the WAL still.
CHECKPOINT_PAGES = 4000
PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "temp_store=MEMORY",
    f"wal_autocheckpoint={CHECKPOINT_PAGES}",
)


@dataclass(frozen=True, slots=True)
class Queued:
    job: Job
    future: asyncio.Future[Any]
    execution_id: str = ""
    is_progress: bool = False
    is_urgent: bool = True


class Database:
    """`write` and `read` take a function of a connection and run it in a thread, inside one transaction."""

    processes: Processes | None = None  # that share the database; SQLite has one
    start_log: StartLog | None = None  # soon after the start, and only of SQLite

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.on_events: Callable[[list[Announcement]], None] = lambda events: None
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[Queued | None] = queue.SimpleQueue()
        self._patient: list[Queued] = []
        self._patience: asyncio.TimerHandle | None = None
        self._unread: asyncio.Future[Any] | None = None  # the last write that had time, which readers wait for
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="reader")
        self._searchers = ThreadPoolExecutor(SEARCHES, thread_name_prefix="search")
        self._scanners = ThreadPoolExecutor(SCANS, thread_name_prefix="scan")
        self._searching = asyncio.Semaphore(SEARCHES)
        self._scanning = 0
        self._closed = False
        self.damage: StorageError | None = None
        self._start_writing()

    @property
    def version(self) -> str:
        """As people say it: `SQLite 3.40.1`."""
        return f"SQLite {self.engine.dialect.dbapi.sqlite_version}"  # type: ignore[union-attr]  # it is connected

    def write(
        self,
        job: Callable[[Connection], T],
        *,
        execution_id: str = "",
        is_progress: bool = False,
        is_urgent: bool = True,
    ) -> asyncio.Future[T]:
        """Queue a job at once; the future ends after its commit. `execution_id` is the only one whose row it locks.

        With `is_progress`, others may read it a moment before it is durable: `flush` is for those who show it. One that
        is not urgent waits a moment for others to share its commit; anyone who reads meanwhile finds it committed.
        """
        future: asyncio.Future[T] = self._loop.create_future()
        if self._closed:
            future.set_exception(StorageError("the database is closed", hint="start the daemon again"))
        elif self.damage is not None:
            future.set_exception(again(self.damage))
        else:
            self._enqueue(Queued(job, future, execution_id, is_progress, is_urgent))
        return future

    async def flush(self) -> None:
        """When this ends, everything that was read before is durable. On SQLite it always is."""

    def _start_writing(self) -> None:
        self._writer = threading.Thread(target=self._write_forever, name="writer", daemon=True)
        self._writer.start()

    def _enqueue(self, item: Queued) -> None:
        self._patient.append(item)
        if item.is_urgent:
            self._hasten()
            return
        self._unread = item.future
        if self._patience is None:
            self._patience = self._loop.call_later(PATIENCE, self._end_patience)

    def _hasten(self) -> None:
        """In their order, those that had time first."""
        for item in self._patient:
            self._queue.put(item)
        self._patient.clear()

    def _end_patience(self) -> None:
        self._patience = None
        self._hasten()

    def _stop_writing(self) -> None:
        """When everything that is queued is written."""
        self._queue.put(None)
        self._writer.join()

    @property
    def queue_length(self) -> int:
        """Writes that wait for their commit, about."""
        return self._queue.qsize()

    async def read(self, job: Callable[[Connection], T]) -> T:
        await self._write_patient()
        return await self._loop.run_in_executor(self._readers, self._read, job)

    async def _write_patient(self) -> None:
        """What was written before must be found, also by those who don't know that it was not urgent: whether it still
        waits for others or is on its way."""
        if (last := self._unread) is None:
            return
        self._hasten()
        if not last.done():
            await asyncio.wait((last,))
        if self._unread is last:
            self._unread = None

    async def search(self, job: Callable[[Connection], T], seconds: float) -> T:
        """Read what no index finds: one at a time, for so long at most, and on a connection of its own."""
        await self._write_patient()
        try:
            async with asyncio.timeout(seconds):
                await self._searching.acquire()
        except TimeoutError:
            raise took_too_long(seconds) from None
        try:
            return await self._loop.run_in_executor(self._searchers, self._search, job, seconds)
        finally:
            self._searching.release()

    async def scan(self, job: Callable[[Connection], T]) -> T:
        """Read everything there is, one at a time, on a connection that nothing short ever waits for."""
        if self._scanning >= QUEUED_SCANS:
            raise Busy(f"{QUEUED_SCANS} long reads are already waiting", hint="try again when some have ended")
        self._scanning += 1
        try:
            await self._write_patient()
            return await self._loop.run_in_executor(self._scanners, self._read, job)
        finally:
            self._scanning -= 1

    async def compact(self) -> None:
        """Write the file again, so that nothing of what was deleted or overwritten is left in it or in the WAL."""
        await self._loop.run_in_executor(self._scanners, self._compact)

    def _compact(self) -> None:
        raw = self.engine.raw_connection()
        try:
            for statement in ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                raw.cursor().execute(statement).fetchall()
        finally:
            raw.close()

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._hasten()
            await self._loop.run_in_executor(None, self._stop_writing)
            for threads in (self._readers, self._searchers, self._scanners):
                threads.shutdown(wait=True, cancel_futures=True)
            self.engine.dispose()
            if self.start_log is not None:
                self.start_log.close()

    def _read(self, job: Callable[[Connection], T]) -> T:
        if self.damage is not None:
            raise again(self.damage)
        try:
            with self._connect_reader() as connection:
                return job(connection)
        except DBAPIError as error:
            raise self._failure(error) from error

    def _connect_reader(self) -> Connection:
        return self.engine.connect()

    def _failure(self, error: DBAPIError) -> Exception:
        """Once damage was met, nothing more is read or written: half an answer would pass for a whole one."""
        failure = storage_error(error)
        if isinstance(failure, StorageDamaged):
            self.damage = failure
        return failure

    def _search(self, job: Callable[[Connection], T], seconds: float) -> T:
        def run(connection: Connection) -> T:
            with stopping_after(connection, seconds):
                return job(connection)

        try:
            return self._read(run)
        except StorageError as error:
            if "interrupted" in error.message:
                raise took_too_long(seconds) from error
            raise

    def _write_forever(self) -> None:
        with connect_to_write(self.engine) as connection:
            connection.info["chains"] = Heads()
            while (group := self._next_group()) is not None:
                self._commit(connection, group)

    def _next_group(self) -> list[Queued] | None:
        first = self._queue.get()
        return take_waiting(self._queue, first, GROUP) if first is not None else None

    def _commit(self, connection: Connection, group: list[Queued]) -> None:
        new_events: list[Announcement] = []
        connection.info["new_events"] = new_events
        at_commit: list[Callable[[], Any]] = []
        connection.info["at_commit"] = at_commit
        heads: Heads = connection.info["chains"]
        outcomes: list[tuple[Queued, Any, BaseException | None]] = []
        began = time.perf_counter()
        try:
            with connection.begin():
                for item in group:
                    outcomes.append((item, *run_job(connection, item.job, alone=len(group) == 1)))
                heads.write(connection)
                for announce in at_commit:
                    announce()
        except BaseException as error:  # noqa: BLE001 - the edge of the writer thread: every waiting job gets it
            failure = self._failure(error) if isinstance(error, DBAPIError) else error
            outcomes = [(item, None, failure) for item in group]
            new_events = []
            heads.forget()
        note_commit(began, len(group))
        self._note_damage(outcomes)
        self._loop.call_soon_threadsafe(self._finish, outcomes, new_events)

    def _note_damage(self, outcomes: list[tuple[Queued, Any, BaseException | None]]) -> None:
        for _, _, error in outcomes:
            if error is not None and isinstance(error, StorageDamaged | DatabaseOutdated):
                self.damage = error

    def _finish(self, outcomes: list[tuple[Queued, Any, BaseException | None]], events: list[Announcement]) -> None:
        if events:
            self.on_events(events)
        for item, value, error in outcomes:
            if item.future.cancelled():
                continue
            if error is None:
                item.future.set_result(value)
            else:
                item.future.set_exception(error)


def take_waiting(items: queue.SimpleQueue[T | None], first: T, most: int) -> list[T]:
    """What is queued behind `first` and can share its commit. The mark of the end stays for the next look."""
    group = [first]
    while len(group) < most:
        try:
            item = items.get_nowait()
        except queue.Empty:
            break
        if item is None:
            items.put(None)
            break
        group.append(item)
    return group


def note_commit(began: float, writes: int) -> None:
    COMMITS.observe(time.perf_counter() - began)
    WRITES.add(amount=writes)


def run_job(connection: Connection, job: Job, *, alone: bool) -> tuple[Any, BaseException | None]:
    """In a group, a job that fails is undone alone by its savepoint; alone, the whole transaction is."""
    if alone:
        return job_result(connection, job)
    new_events: list[Announcement] = connection.info["new_events"]
    heads: Heads = connection.info["chains"]
    before, mark = len(new_events), heads.mark()
    driver = cast(sqlite3.Connection, connection.connection.dbapi_connection)  # Core would take ten times as long
    driver.execute("SAVEPOINT job")
    try:
        value = job(connection)
        driver.execute("RELEASE job")
    except Exception as error:
        if not driver.in_transaction:  # a full disk, for example, undoes everything
            raise
        driver.execute("ROLLBACK TO job")
        driver.execute("RELEASE job")
        del new_events[before:]
        heads.undo(mark)
        return None, storage_error(error) if isinstance(error, DBAPIError) else error
    return value, None


def job_result(connection: Connection, job: Job) -> tuple[Any, BaseException | None]:
    return job(connection), None


class Compiler(SQLiteCompiler):
    """Writes `with_hint` down: which index a statement must take, whatever the statistics say.

    Locks are written as comments. The one writer needs none, but tests see by them where another database waits.
    """

    def get_from_hint_text(self, table: Any, text: Any) -> Any:
        return text

    def for_update_clause(self, select: Any, **options: Any) -> str:
        return " /* FOR UPDATE */"


def open_engine(path: Path) -> Engine:
    """SQLite in WAL mode with full durability. The writer begins immediately, readers are deferred."""
    engine = sa.create_engine(
        f"sqlite:///{path}",
        poolclass=QueuePool,
        pool_size=READERS + SEARCHES + SCANS + 1,
        max_overflow=2,
        connect_args={"check_same_thread": False, "timeout": 30.0},
    )

    engine.dialect.statement_compiler = Compiler
    engine.dialect.do_begin = begin  # type: ignore[assignment, method-assign]  # a listener costs every statement

    @event.listens_for(engine, "connect")
    def configure(connection: Any, record: Any) -> None:
        connection.isolation_level = None
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")

    return engine


@contextmanager
def connect_to_write(engine: Engine) -> Iterator[Connection]:
    """Its transactions take the write lock when they begin."""
    with engine.connect() as connection:
        connection.info["writes"] = True
        try:
            yield connection
        finally:
            del connection.info["writes"]


def begin(connection: PoolProxiedConnection) -> None:
    writes = connection.info.get("writes", False)
    cast(sqlite3.Connection, connection.dbapi_connection).execute("BEGIN IMMEDIATE" if writes else "BEGIN")


def again(damage: StorageError) -> StorageError:
    """For one more waiter: an error that several raise would collect the tracebacks of all."""
    return type(damage)(damage.message, hint=damage.hint)


def storage_error(error: DBAPIError) -> Exception:
    if hasattr(error.orig, "sqlstate"):
        from executor.storage.postgres import failures

        return failures.storage_error(error)
    text = str(error.orig)
    if is_damage(text):
        return damage_error(text)
    if "disk is full" in text or "database or disk" in text:
        return StorageFull("the disk that holds the database is full", hint="free some space; nothing was lost")
    if "readonly" in text or "read-only" in text:
        return DataDirectoryUnusable(
            "the database can't be written", hint="check the permissions of the data directory"
        )
    if isinstance(error, OperationalError):
        return StorageError(f"the database refused: {text}", hint="run `executor doctor`")
    return error
