"""A PostgreSQL database as a place to keep everything: what is in it, bringing it to this version, opening it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from executor.dataclass import dataclass
from executor.errors import DatabaseOutdated, NewerDatabase, StorageError
from executor.storage import migrate
from executor.storage.database import Database
from executor.storage.integrity import Head, Identity
from executor.storage.postgres import compatibility, ownership, pipeline
from executor.storage.postgres.database import PostgresDatabase
from executor.storage.postgres.engine import open_engine
from executor.storage.postgres.failures import AGAIN, LOCKED, sqlstate, storage_error
from executor.storage.postgres.processes import Processes
from executor.storage.postgres.url import address
from executor.storage.tables.core import chains, events, organizations

T = TypeVar("T")
OLDEST = 140_000  # server_version_num
MIGRATE = "run `executor db migrate`"
BESIDE_ATTEMPTS = 30
BESIDE_WAIT = "2s"
BESIDE_PAUSE = 1.0
COPYING = "copying"  # instead of a revision, while `executor db copy` is not complete


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """`direct_url` is there if `url` leads to a pooler, and goes around it."""

    url: str = field(repr=False)
    direct_url: str = field(default="", repr=False)

    def __str__(self) -> str:
        return address(self.url)

    def is_empty(self) -> bool:
        return self.identify() is None

    def identify(self) -> Identity | None:
        """None without a first start in it."""
        return self.read(_identify)

    def has_event(self, workspace_id: str, head: Head) -> bool:
        query = sa.select(events.c.seal).where(events.c.id == head[0], events.c.workspace_id == workspace_id)
        return self.read(lambda c: c.execute(query).scalar()) == head[1]

    def check(self) -> None:
        """Raises if it can't be used as it is. Damage to its files is the server's to find."""
        self.read(check_ready)

    def check_direct(self) -> None:
        """Raises if the direct URL can't be used, or leads to a pooler too."""
        with self._direct_engine() as engine, engine.connect() as connection:
            ownership.refuse_pooler(connection)

    def revision(self) -> str | None:
        return self.read(migrate.current_revision)

    def migrate(self) -> bool:
        """True if the schema was changed. Processes may use the database meanwhile if they can use the result."""
        with self._direct_engine() as engine, engine.connect() as connection:
            check_server(connection)
            connection.detach()
            if not ownership.is_free(connection):
                return migrate_beside(connection)
        with self.alone() as connection:
            return migrate_alone(connection)

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """A session that no process shares the database with."""
        with self._direct_engine() as engine, engine.connect() as connection:
            check_server(connection)
            connection.detach()
            ownership.lock(connection, alone=True)
            yield connection

    def read(self, job: Callable[[Connection], T]) -> T:
        with self._engine() as engine, engine.connect() as connection:
            return job(connection)

    async def open(self) -> Database:
        """For as long as it is open, no one can migrate the database. Others may have it open too."""
        engine, session = await asyncio.to_thread(self._connect)
        return PostgresDatabase(engine, session, Processes(self.direct_url or self.url))

    def _connect(self) -> tuple[Engine, ownership.WriteSession]:
        self.check()
        engine = open_engine(self.url, pooled=bool(self.direct_url))
        pipeline.install(engine)
        session = ownership.WriteSession(engine, open_engine(self.direct_url) if self.direct_url else None)
        session.connection()
        return engine, session

    def _engine(self) -> AbstractContextManager[Engine]:
        return temporary_engine(self.url, pooled=bool(self.direct_url))

    def _direct_engine(self) -> AbstractContextManager[Engine]:
        return temporary_engine(self.direct_url or self.url)


@contextmanager
def temporary_engine(url: str, *, pooled: bool = False) -> Iterator[Engine]:
    engine = open_engine(url, pooled=pooled)
    try:
        yield engine
    except DBAPIError as error:
        raise storage_error(error, address(url)) from error
    finally:
        engine.dispose()


def migrate_alone(connection: Connection) -> bool:
    with connection.begin():
        refuse_copy(migrate.current_revision(connection))
        connection.execute(sa.text("SET LOCAL statement_timeout = 0"))
        return migrate_noted(connection)


def migrate_beside(connection: Connection) -> bool:
    """While processes run. It waits for no lock for long, since everyone else would wait behind it."""
    for attempt in range(BESIDE_ATTEMPTS):
        try:
            with connection.begin():
                present = migrate.current_revision(connection)
                refuse_copy(present)
                if present == migrate.HEAD:
                    return False
                ownership.close_gate(connection)
                connection.execute(sa.text("SET LOCAL statement_timeout = 0"))
                connection.execute(sa.text(f"SET LOCAL lock_timeout = '{BESIDE_WAIT}'"))
                return migrate_noted(connection)
        except DBAPIError as error:
            if sqlstate(error) not in (LOCKED, *AGAIN) or attempt == BESIDE_ATTEMPTS - 1:
                raise
            time.sleep(BESIDE_PAUSE)
    raise AssertionError("it returns or raises")


def migrate_noted(connection: Connection) -> bool:
    if not migrate.migrate_in(connection):
        return False
    compatibility.note(connection)
    return True


def check_server(c: Connection) -> None:
    number = int(c.execute(sa.text("SHOW server_version_num")).scalar_one())
    if number < OLDEST:
        raise StorageError(
            f"PostgreSQL {number // 10_000} is older than {OLDEST // 10_000}", hint="use a newer PostgreSQL server"
        )
    encoding = c.execute(sa.text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        raise StorageError(
            f"the PostgreSQL database has the encoding {encoding}",
            hint="create it with UTF8: createdb --encoding=UTF8 --template=template0 NAME",
        )
    c.rollback()


def check_ready(c: Connection) -> None:
    check_server(c)
    present = migrate.current_revision(c)
    if compatibility.can_use(c, present):
        return
    refuse_copy(present)
    if present is None:
        raise DatabaseOutdated("the PostgreSQL database has no tables of Executor", hint=MIGRATE)
    if present in migrate.KNOWN:
        message = f"the PostgreSQL database has schema {present}, and this version needs {migrate.HEAD}"
        raise DatabaseOutdated(message, hint=MIGRATE)
    raise NewerDatabase(
        f"the database has schema {present}, which is newer than this version's {migrate.HEAD}",
        hint="install the newer Executor again, or use another database",
    )


def refuse_copy(revision: str | None) -> None:
    if revision == COPYING:
        raise DatabaseOutdated(
            "a copy into this database is not complete", hint="run `executor db copy` again: it continues"
        )


def _identify(c: Connection) -> Identity | None:
    if migrate.current_revision(c) is None:
        return None
    first = c.execute(sa.select(sa.func.min(organizations.c.id))).scalar()
    if first is None:
        return None
    return Identity(first, {row.workspace_id: (row.event_id, row.seal) for row in c.execute(sa.select(chains))})
