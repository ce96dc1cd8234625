"""The OAuth client, made when the first login or call needs it: a daemon that starts should not wait for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy.engine import Connection as Database_

from executor.catalog.catalog import Catalog
from executor.execution.approvals.credentials import resume_waiting
from executor.execution.engine import Engine
from executor.model.credentials import Connection

if TYPE_CHECKING:
    from executor.connections.oauth.logins import Logins, OnConnected
    from executor.connections.oauth.new_connection import Connected
    from executor.secrets.sealing import Sealing


# What a login that came to its end sets going: the calls that waited for it, and the source that could not be read.
def on_connected(engine: Engine, catalog: Catalog) -> OnConnected:
    async def go_on(connected: Connected) -> None:
        await resume_waiting(engine, connected.connection, by=connected.by)
        if connected.source.status == "failing":
            catalog.lifecycle.source_changed(connected.source.id)

    return go_on


class LateGrants:
    def __init__(self, logins: Callable[[], Logins]) -> None:
        self._logins = logins

    async def access_token(self, connection: Connection, *, rejected: str = "") -> str:
        return await self._logins().grants.access_token(connection, rejected=rejected)


def reseal(c: Database_, sealing: Sealing) -> None:
    """Part of the rotation of keys, whether or not anyone has logged in since the start."""
    from executor.connections.oauth import sealing as grant_sealing

    grant_sealing.reseal(c, sealing)
