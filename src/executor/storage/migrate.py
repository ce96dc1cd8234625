"""Bring the database to this version's schema.

An empty database gets all tables at once and the mark of the newest revision. Only an older one is changed by the
migrations, and only then is Alembic imported.
"""

from __future__ import annotations

import os
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError

from executor.errors import DataDirectoryUnusable, NewerDatabase
from executor.storage.database import connect_to_write, open_engine, storage_error
from executor.storage.tables import access, cluster, model_usage, sessions, webhooks  # noqa: F401 - their tables are in the metadata
from executor.storage.tables.core import metadata

HEAD = "0054"
# The oldest version, by its newest revision, that can use the schema of HEAD: its processes run beside this version's
# during an upgrade. A migration that only adds leaves it; one that removes or renames something raises it.
USABLE_SINCE = "0046"
KNOWN = (  # in their order
    *("0001", "0002", "0003", "0005", "0006", "0007", "0008", "0009"),
    *("0012", "0011", "0010", "0013", "0014", "0015", "0016", "0020", "0022", "0026", "0030", "0032", "0034", "0035"),
    *("0040", "0045", "0046", "0049", "0050", "0052", "0053", "0054"),
)
MIGRATIONS = Path(__file__).parent / "migrations"
# Alembic's own table, exactly as it would make it.
VERSION = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def ready(path: Path) -> Engine:
    """The database in this file at this version's schema; created if it does not exist."""
    prepare_file(path)
    engine = open_engine(path)
    migrate(engine)
    return engine


def prepare_file(path: Path) -> None:
    """A 0700 directory and a 0600 database file, made before SQLite makes them with the user's umask."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.parent.chmod(0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        path.chmod(0o600)
    except OSError as error:
        raise DataDirectoryUnusable(
            f"the data directory {path.parent} can't be used: {error.strerror}",
            hint="make it writable for you, or set EXECUTOR_DATA_DIR to another directory",
        ) from error


def migrate(engine: Engine) -> bool:
    """True if the schema was changed."""
    try:
        with connect_to_write(engine) as connection, connection.begin():
            return migrate_in(connection)
    except DBAPIError as error:
        raise storage_error(error) from error


def current_revision(connection: Connection) -> str | None:
    if connection.dialect.name == "postgresql" and not _has_version(connection):
        return None  # where a failing statement would end the transaction
    try:
        row = connection.execute(sa.select(VERSION.c.version_num)).first()
    except OperationalError as error:
        if "no such table" in str(error.orig):
            return None
        raise
    return str(row[0]) if row else None


def _has_version(connection: Connection) -> bool:
    return connection.execute(sa.select(sa.func.to_regclass(VERSION.name).is_not(None))).scalar_one()


def migrate_in(connection: Connection) -> bool:
    """In the caller's transaction. True if the schema was changed."""
    present = current_revision(connection)
    if present == HEAD:
        return False
    if present is None:
        _create(connection)
        return True
    if present not in KNOWN:
        raise NewerDatabase(
            f"the database has schema {present}, which is newer than this version's {HEAD}",
            hint="install the newer Executor again, or set EXECUTOR_DATA_DIR to another directory",
        )
    upgrade(connection)
    return True


def _create(connection: Connection) -> None:
    metadata.create_all(connection, checkfirst=False)
    VERSION.create(connection, checkfirst=False)
    connection.execute(VERSION.insert().values(version_num=HEAD))


def upgrade(connection: Connection) -> None:
    """From whatever revision it has, step by step."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
