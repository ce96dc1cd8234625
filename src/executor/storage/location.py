"""Where the database is, and what can be asked about it before it is opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from executor.dataclass import dataclass
from executor.errors import InvalidRequest

if TYPE_CHECKING:
    from executor.storage.database import Database
    from executor.storage.integrity import Head, Identity
    from executor.storage.postgres.server import PostgresServer


class Location(Protocol):
    """Its text is for people: without credentials."""

    def is_empty(self) -> bool:
        """Whether nothing was ever started with it."""

    def identify(self) -> Identity | None:
        """None without a first start in it."""

    def has_event(self, workspace_id: str, head: Head) -> bool:
        """Whether this very event is still in the log."""

    def check(self) -> None:
        """Raise if it can't be used as it is."""

    async def open(self) -> Database: ...


@dataclass(frozen=True, slots=True)
class SqliteFile:
    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def start_log(self) -> Path:
        return self.path.with_name(f"{self.path.name}-starts")

    def is_empty(self) -> bool:
        return not self.path.exists() or self.path.stat().st_size == 0

    def identify(self) -> Identity | None:
        from executor.storage import integrity

        return integrity.identify(self.path)

    def has_event(self, workspace_id: str, head: Head) -> bool:
        from executor.storage import integrity

        return integrity.has_event(self.path, workspace_id, head)

    def check(self) -> None:
        from executor.storage import integrity

        integrity.check(self.path)

    async def open(self) -> Database:
        import asyncio

        from executor.storage import migrate
        from executor.storage.database import Database

        return Database(await asyncio.to_thread(migrate.ready, self.path))


def find(database_url: str, data_dir: Path, direct_url: str = "") -> SqliteFile | PostgresServer:
    """`direct_url` goes around the pooler, such as PgBouncer, that `database_url` leads to."""
    if is_postgres(database_url):
        from executor.storage.postgres.server import PostgresServer

        if direct_url and not is_postgres(direct_url):
            raise InvalidRequest(
                "EXECUTOR_DATABASE_DIRECT_URL is not the URL of a PostgreSQL server",
                hint="use postgresql://user@host/database, without the pooler",
            )
        return PostgresServer(database_url, direct_url)
    return SqliteFile(sqlite_path(database_url, data_dir))


def is_postgres(database_url: str) -> bool:
    return database_url.startswith(("postgresql:", "postgres:"))


def sqlite_path(database_url: str, data_dir: Path) -> Path:
    if not database_url:
        return data_dir / "executor.db"
    if database_url.startswith("sqlite:///"):
        return Path("/", database_url.removeprefix("sqlite:///"))  # wherever a process was started
    scheme = database_url.partition(":")[0]
    raise InvalidRequest(
        f"EXECUTOR_DATABASE_URL starts with `{scheme}:`, which this version can't use",
        hint="leave it empty, or use sqlite:///absolute/path/executor.db or postgresql://user@host/database",
    )
