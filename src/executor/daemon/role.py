"""What a process does of all that Executor does. On SQLite one process does everything."""

from __future__ import annotations

from typing import Literal

from executor.errors import InvalidRequest
from executor.settings import Settings
from executor.storage.location import is_postgres

Role = Literal["up", "serve", "worker"]


def check_role(settings: Settings, role: Role) -> None:
    if role == "up" and (settings.server_auto_execute != "off" or is_postgres(settings.database_url)):
        return
    if not is_postgres(settings.database_url):
        what = f"`executor {role}`" if role != "up" else "a server that does not execute"
        raise InvalidRequest(
            f"{what} needs PostgreSQL, which several processes share",
            hint="set EXECUTOR_DATABASE_URL to postgresql://user@host/database, or use `executor up`",
        )


def executes(settings: Settings, role: Role) -> bool:
    """Whether this process runs code. One that serves requests may leave that to others."""
    if role == "worker":
        return True
    return settings.server_auto_execute == "on" or (role == "up" and settings.server_auto_execute == "auto")
