"""The session that a process writes with. It shares a lock of PostgreSQL's with every other process on the database.

Migrations and copies take the same lock for themselves alone, so no process runs meanwhile. A session that broke may
have lost the lock to a migration: the next one looks at the schema again. A migration does not need the lock if every
process that runs can use its result: it only keeps others from starting until it is committed.

Through a pooler, transactions may run in any session. Then another, direct session has the lock. It may break without
notice, so each transaction also takes the lock until its end, and looks at the schema.
"""

from __future__ import annotations

import select
import time
from contextlib import suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from executor.errors import DatabaseInUse, DatabaseOutdated, InvalidRequest
from executor.storage import migrate
from executor.storage.postgres.compatibility import can_be_used_by, can_use
from executor.storage.postgres.engine import local_settings
from executor.storage.postgres.failures import POOLER, storage_error
from executor.storage.postgres.pipeline import READ_WRITE
from executor.storage.postgres.url import TRANSACTION

LOCK = 0x45584543  # "EXEC"; the other half is the schema
GATE = LOCK + 1  # held alone by a migration beside running processes: no one starts meanwhile
VERSION_NAME = f"executor {migrate.HEAD}"  # of sessions that share the lock
TAKE_SECONDS = 5.0  # the session of a process that was killed just now may still be ending
LOOK_SECONDS = 0.1
FROZEN_SECONDS = 10  # a process that is frozen in a transaction loses it, so that no one waits for its locks
_ALONE = sa.text("SELECT pg_try_advisory_lock(:lock, hashtext(current_schema()))")
_SHARED = sa.text("SELECT pg_try_advisory_lock_shared(:lock, hashtext(current_schema()))")
_OTHERS = sa.text(
    "SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
    " WHERE l.locktype = 'advisory' AND l.classid = :lock AND l.granted AND l.pid != pg_backend_pid()"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_CLOSE_GATE = sa.text("SELECT pg_advisory_xact_lock(:gate, hashtext(current_schema()))")
_PASS_GATE = sa.text("SELECT pg_advisory_xact_lock_shared(:gate, hashtext(current_schema()))")
_LIMITS = local_settings(
    {
        **TRANSACTION,
        "idle_in_transaction_session_timeout": f"{FROZEN_SECONDS}s",
        "application_name": VERSION_NAME,
    }
)
_DURABLY = (
    "set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')"
    " THEN 'on' ELSE current_setting('synchronous_commit') END, {})"
)
_LOCK = f"pg_advisory_xact_lock_shared({LOCK}, hashtext(current_schema()))"
_POOLED_OPENING = f"{READ_WRITE}; SELECT {_LIMITS}, {_DURABLY.format('true')}, {_LOCK}"
_MAY_FLUSH = sa.text("SELECT has_function_privilege('pg_logical_emit_message(boolean, text, text)', 'EXECUTE')")
_REVISION = sa.select(migrate.VERSION.c.version_num)
_IS_HELD = sa.text(
    "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND classid = :lock AND granted AND pid = :session"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_HOLDER = sa.text(
    "SELECT l.pid, a.client_addr::text AS client FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid"
    " WHERE l.locktype = 'advisory' AND l.classid = :lock AND l.granted"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class WriteSession:
    """`connection` is the one to write with; made again, with its share of the lock, after `drop`.

    `direct` is there if `engine` connects to a pooler.
    """

    def __init__(self, engine: Engine, direct: Engine | None = None) -> None:
        self._engine = engine
        self._direct = direct
        self._connection: Connection | None = None
        self._raw: list[Any] = []
        self._usable: str | None = migrate.HEAD
        self.may_flush = False

    @property
    def is_pooled(self) -> bool:
        return self._direct is not None

    def another(self) -> WriteSession:
        """For another lane of the same process."""
        return WriteSession(self._engine, self._direct)

    def connection(self) -> Connection:
        if self._connection is not None and any(map(is_readable, self._raw)):
            self.drop()
        if self._connection is None:
            try:
                self._connection = self._connect()
                self.may_flush = bool(self._connection.execute(_MAY_FLUSH).scalar())
                self._connection.commit()
            except DBAPIError as error:
                raise storage_error(error) from error
        return self._connection

    def drop(self) -> None:
        if self._connection is not None:
            with suppress(DBAPIError):
                self._connection.close()
            self._connection = None
        while self._raw:
            self._raw.pop().close()  # which SQLAlchemy leaves open if the connection broke

    def guard(self, c: Connection) -> None:
        """First in each transaction: nothing to do in a session that has the lock."""
        if self._direct is not None:
            present = c.execute(_REVISION).scalar()
            if present != self._usable:
                check_schema(c, present)
                self._usable = present

    def _connect(self) -> Connection:
        try:
            return self._connect_pooled(self._direct) if self._direct is not None else self._connect_directly()
        except BaseException:
            self.drop()
            raise

    def _connect_directly(self) -> Connection:
        c = self._connect_alone(self._engine).execution_options(opening=READ_WRITE)
        lock(c, alone=False)
        insist_on_durability(c)
        c.execute(sa.text(f"SET idle_in_transaction_session_timeout = '{FROZEN_SECONDS}s'"))
        pass_gate(c)
        return c

    def _connect_pooled(self, direct: Engine) -> Connection:
        keeper = self._connect_alone(direct)
        lock(keeper, alone=False)
        session = session_of(keeper)
        pass_gate(keeper)
        c = self._connect_alone(self._engine).execution_options(opening=_POOLED_OPENING)
        self.guard(c)
        if not c.execute(_IS_HELD, {"lock": LOCK, "session": session}).scalar():
            raise InvalidRequest(
                "EXECUTOR_DATABASE_URL and EXECUTOR_DATABASE_DIRECT_URL lead to different databases",
                hint="let the direct URL name the server and the database behind the pooler",
            )
        c.commit()
        return c

    def _connect_alone(self, engine: Engine) -> Connection:
        """Closing it ends the session, and with it the lock."""
        c = engine.connect()
        c.detach()
        self._raw.append(raw(c))
        return c


def is_readable(raw_connection: Any) -> bool:
    """Between transactions, a server sends nothing unless it ends the session. A transaction that is sent into an ended
    session looks like one whose COMMIT got no answer, so check first."""
    socket = select.poll()
    socket.register(raw_connection.fileno(), select.POLLIN)
    return bool(socket.poll(0))


def pass_gate(c: Connection) -> None:
    """With a share of the lock: wait for a migration that did not see it, then look at the schema."""
    c.execute(_PASS_GATE, {"gate": GATE})
    check_schema(c, migrate.current_revision(c))
    c.commit()


def close_gate(c: Connection) -> None:
    """Until the end of the transaction. Raises DatabaseInUse if a process could not use this version's schema."""
    c.execute(_CLOSE_GATE, {"gate": GATE})
    names = c.execute(_OTHERS, {"lock": LOCK}).scalars().all()
    if not all(can_be_used_by(name.rpartition(" ")[2]) for name in names):
        raise DatabaseInUse(
            "processes of an older version use this database, and can't use the new schema",
            hint="stop every process that uses it, then try again",
        )


def check_schema(c: Connection, present: str | None) -> None:
    if not can_use(c, present):
        raise DatabaseOutdated(
            f"the schema of the PostgreSQL database is {present} now, and this version needs {migrate.HEAD}",
            hint="restart this process with the version that the database was migrated to",
        )


def lock(c: Connection, *, alone: bool) -> None:
    """Raises DatabaseInUse if another process is in the way."""
    refuse_pooler(c)
    if not alone:
        c.execute(sa.text(f"SET application_name = '{VERSION_NAME}'"))
        c.commit()
    ends = time.monotonic() + TAKE_SECONDS
    while not c.execute(_ALONE if alone else _SHARED, {"lock": LOCK}).scalar():
        holder = c.execute(_HOLDER, {"lock": LOCK}).first()
        if time.monotonic() > ends:
            where = f" (session {holder.pid}{f' of {holder.client}' if holder.client else ''})" if holder else ""
            message, hint = _in_use(where) if alone else _being_changed(where)
            raise DatabaseInUse(message, hint=hint)
        c.rollback()
        time.sleep(LOOK_SECONDS)
    c.commit()


def is_free(c: Connection) -> bool:
    """Whether no process shares the lock just now."""
    free = not c.execute(_OTHERS, {"lock": LOCK}).scalars().all()
    c.rollback()
    return free


def _in_use(where: str) -> tuple[str, str]:
    return f"another Executor process uses this database{where}", "stop every process that uses it, then try again"


def _being_changed(where: str) -> tuple[str, str]:
    return f"this database is being migrated or copied into{where}", "start this process when that has ended"


def refuse_pooler(c: Connection) -> None:
    """A pooler hands the session to others between two transactions, and the lock with it."""
    if session_of(c) != raw(c).info.backend_pid:
        raise InvalidRequest(POOLER[0], hint=POOLER[1])


def insist_on_durability(c: Connection) -> None:
    """For this session, where the server's default is to answer before a commit is on its disk, or on that of its
    synchronous standby: a call whose journal is lost would be sent again. Stricter settings stay."""
    c.exec_driver_sql(f"SELECT {_DURABLY.format('false')}")


def session_of(c: Connection) -> int:
    return int(c.execute(sa.text("SELECT pg_backend_pid()")).scalar_one())


def raw(c: Connection) -> Any:
    """psycopg's own. A detached connection has no `driver_connection`."""
    return c.connection.dbapi_connection
