"""The OAuth client, made when the first login or call needs it: a daemon that starts should not wait for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy.engine import Connection as Database_

from executor.model.connection import Connection

if TYPE_CHECKING:
    from executor.connections.oauth.logins import Logins
    from executor.secrets.sealing import Sealing


class LateGrants:
    def __init__(self, logins: Callable[[], Logins]) -> None:
        self._logins = logins

    async def access_token(self, connection: Connection, *, rejected: str = "") -> str:
        return await self._logins().grants.access_token(connection, rejected=rejected)


def reseal(c: Database_, sealing: Sealing) -> None:
    """Part of the rotation of keys, whether or not anybody has logged in since the start."""
    from executor.connections.oauth import keeping

    keeping.reseal(c, sealing)
