"""A copy of an SQLite database in PostgreSQL: in batches that are committed with how far they came, so it can continue.

Until everything was compared, the copy's schema has a revision that no version knows: nothing opens half a copy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DataError, DBAPIError

from executor.errors import Conflict, DatabaseOutdated, InvalidRequest, StorageDamaged, StorageError
from executor.storage import database as sqlite
from executor.storage import integrity, migrate, start_log
from executor.storage.executions import event_chain, executions
from executor.storage.location import SqliteFile
from executor.storage.postgres import compatibility
from executor.storage.postgres.failures import storage_error
from executor.storage.postgres.server import COPYING, PostgresServer
from executor.storage.tables.core import chains, events, metadata

Progress = Callable[[str, int, int], None]  # a table, how many of its rows are there, how many it has
BATCH = 500
LARGE_BATCH = 32
LARGE = ("chunks", "documents", "revisions")
_ROWID: sa.ColumnElement[int] = sa.literal_column("rowid", sa.BigInteger)
state = sa.Table(
    "executor_copy",
    sa.MetaData(),
    sa.Column("name", sa.String, primary_key=True),  # of a table; empty for the source itself
    sa.Column("value", sa.String, nullable=False),
)


def copy(path: Path, server: PostgresServer, progress: Progress = lambda table, done, of: None) -> dict[str, int]:
    """The number of rows of each table. What an earlier copy of the same source left off is continued."""
    integrity.check(path)
    engine = sqlite.open_engine(path)
    try:
        # With the write lock: no one changes the source meanwhile.
        with engine.connect().execution_options(writes=True) as source, source.begin(), server.alone() as target:
            counts = check_source(source)
            check_started(source, path)
            begin(target, fingerprint(source, counts))
            for table in metadata.sorted_tables:
                copy_table(source, target, table, counts[table.name], progress)
            finish(source, target, counts)
            return counts
    except DBAPIError as error:
        raise sqlite.storage_error(error) from error
    finally:
        engine.dispose()


def check_source(source: Connection) -> dict[str, int]:
    present = migrate.current_revision(source)
    if present != migrate.HEAD:
        raise DatabaseOutdated(
            f"the SQLite database has schema {present}, and a copy needs {migrate.HEAD}",
            hint="start the daemon with it once, which migrates it, and stop it",
        )
    return count_rows(source)


def check_started(source: Connection, path: Path) -> None:
    """A daemon that did not stop properly may have reported more than it has committed."""
    for execution in start_log.read(SqliteFile(path).start_log):
        if executions.get(source, execution.workspace_id, execution.id) is None:
            raise DatabaseOutdated(
                f"the execution {execution.id} was started and is not in the SQLite database yet",
                hint="start the daemon with it once, which adds it, and stop it",
            )


def count_rows(c: Connection) -> dict[str, int]:
    counting = sa.func.count()
    return {
        table.name: c.execute(sa.select(counting).select_from(table)).scalar_one() for table in metadata.sorted_tables
    }


def fingerprint(source: Connection, counts: dict[str, int]) -> str:
    """Of what is copied: another database, or the same one later, has another."""
    heads = sorted(tuple(row) for row in source.execute(sa.select(chains)))
    return hashlib.sha256(orjson.dumps([heads, sorted(counts.items())])).hexdigest()


def begin(target: Connection, source: str) -> None:
    with target.begin():
        present = migrate.current_revision(target)
        if present == COPYING:
            if target.execute(sa.select(state.c.value).where(state.c.name == "")).scalar() != source:
                raise Conflict(
                    "the target has a part of another copy: the source has changed since, or was another one",
                    hint="drop the target database, create it again, and copy into it",
                )
            return
        migrate.migrate_in(target)
        if any(count_rows(target).values()):
            raise Conflict("the target database is not empty", hint="copy into a database of its own")
        state.create(target)
        target.execute(sa.insert(state).values(name="", value=source))
        target.execute(sa.update(migrate.VERSION).values(version_num=COPYING))


def copy_table(source: Connection, target: Connection, table: sa.Table, count: int, progress: Progress) -> None:
    with target.begin():
        found = target.execute(sa.select(state.c.value).where(state.c.name == table.name)).scalar()
    last, done = (int(part) for part in found.split()) if found else (0, 0)
    size = LARGE_BATCH if table.name in LARGE else BATCH
    columns = sa.select(_ROWID.label("copied_rowid"), *table.c).order_by(_ROWID).limit(size)
    while rows := source.execute(columns.where(last < _ROWID)).mappings().all():
        last, done = rows[-1]["copied_rowid"], done + len(rows)
        values = [{column.name: row[column.name] for column in table.c} for row in rows]
        with target.begin():
            insert(target, table, values)
            target.execute(sa.delete(state).where(state.c.name == table.name))
            target.execute(sa.insert(state).values(name=table.name, value=f"{last} {done}"))
        progress(table.name, done, count)


def insert(target: Connection, table: sa.Table, rows: list[dict[str, Any]]) -> None:
    try:
        target.execute(sa.insert(table), rows)
    except DataError as error:
        reason = storage_error(error)
        message = reason.message if isinstance(reason, InvalidRequest) else "a value can't be stored"
        raise InvalidRequest(
            f"a row of {table.name} can't be copied: {message}",
            hint="change or delete it in the source, then copy again",
        ) from None


def finish(source: Connection, target: Connection, counts: dict[str, int]) -> None:
    """Compare, and only then let the copy be opened."""
    with target.begin():
        target.execute(sa.text("SET LOCAL statement_timeout = 0"))
        found = count_rows(target)
        wrong = sorted(name for name in counts if found[name] != counts[name])
        if wrong:
            raise StorageError(f"the copy has another number of rows in {', '.join(wrong)}", hint="drop it, copy again")
        for row in source.execute(sa.select(chains)):
            report = event_chain.verify(target, row.workspace_id, (row.event_id, row.seal))
            if report.problem:
                raise StorageDamaged(
                    f"the audit log of {row.workspace_id} is not whole in the copy: {report.problem}",
                    hint="run `executor audit verify` on the source; drop the copy and copy again",
                )
        newest = sa.select(sa.func.coalesce(sa.func.max(events.c.id), 0) + 1).scalar_subquery()
        serial = sa.func.pg_get_serial_sequence(events.name, events.c.id.name)
        target.execute(sa.select(sa.func.setval(serial, newest, sa.false())))
        state.drop(target)
        target.execute(sa.update(migrate.VERSION).values(version_num=migrate.HEAD))
        compatibility.note(target)
        target.execute(sa.text("ANALYZE"))
