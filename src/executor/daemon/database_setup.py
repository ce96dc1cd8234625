"""What `executor db` does: bring a database to this version, check it, copy SQLite into PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from executor.daemon import data_files, lock
from executor.daemon.doctor.check import Check
from executor.errors import ExecutorError, InvalidRequest
from executor.settings import Settings
from executor.storage.location import SqliteFile, find

if TYPE_CHECKING:
    from executor.storage.postgres.server import PostgresServer

Progress = Callable[[str, int, int], None]


def migrate(settings: Settings) -> bool:
    """True if the schema was changed."""
    location = find(settings.database_url, settings.data_dir, settings.database_direct_url)
    if not isinstance(location, SqliteFile):
        return location.migrate()
    from executor.storage.database import open_engine
    from executor.storage.migrate import migrate as migrate_engine
    from executor.storage.migrate import prepare_file

    with _alone(settings):
        prepare_file(location.path)
        engine = open_engine(location.path)
        try:
            return migrate_engine(engine)
        finally:
            engine.dispose()


def check(settings: Settings) -> list[Check]:
    from executor.daemon.doctor.checks import check_database

    try:
        return list(check_database(settings))
    except ExecutorError as error:
        return [Check("database", "failure", error.message, error.hint)]


def copy(settings: Settings, origin: str, target: str, progress: Progress) -> dict[str, int]:
    """The number of rows of each table. The daemon of the source must be stopped."""
    source, server = find(origin, settings.data_dir), _target(settings, target)
    if not isinstance(source, SqliteFile) or isinstance(server, SqliteFile):
        raise InvalidRequest(
            "a copy goes from SQLite to PostgreSQL",
            hint="use --from sqlite:///absolute/path/executor.db, and set EXECUTOR_DATABASE_URL to the target",
        )
    if source.is_empty():
        raise InvalidRequest(f"there is no database to copy: {source}", hint="check --from, or EXECUTOR_DATA_DIR")
    from executor.storage.postgres.sqlite_copy import copy as copy_database

    with _alone(replace(settings, database_url="")):
        return copy_database(source.path, server, progress)


def _target(settings: Settings, url: str) -> SqliteFile | PostgresServer:
    if url:
        return find(url, settings.data_dir)
    return find(settings.database_url, settings.data_dir, settings.database_direct_url)


@contextmanager
def _alone(settings: Settings) -> Iterator[None]:
    """While no daemon uses the data directory."""
    data_files.prepare(settings)
    with lock.acquire(settings.lock_file):
        yield
