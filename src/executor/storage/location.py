"""Where the database is. Apart from the engine, so that a start can look before it imports that."""

from __future__ import annotations

from pathlib import Path

from executor.errors import InvalidRequest


def sqlite_path(database_url: str, data_dir: Path) -> Path:
    if not database_url:
        return data_dir / "executor.db"
    if database_url.startswith("sqlite:///"):
        return Path(database_url.removeprefix("sqlite:///"))
    scheme = database_url.partition(":")[0]
    raise InvalidRequest(
        f"EXECUTOR_DATABASE_URL starts with `{scheme}:`, which this version can't use",
        hint="leave it empty, or use sqlite:///absolute/path/executor.db",
    )


def is_empty(path: Path) -> bool:
    return not path.exists() or path.stat().st_size == 0
