"""What a login that came to its end sets going: the calls that waited for it, and the source that could not be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor.catalog.catalog import Catalog
from executor.execution.engine import Engine
from executor.execution.providing import settle_waiting

if TYPE_CHECKING:
    from executor.connections.oauth.logins import OnConnected
    from executor.connections.oauth.saving import Connected


def on_connected(engine: Engine, catalog: Catalog) -> OnConnected:
    async def go_on(connected: Connected) -> None:
        connection, source = connected.connection, connected.source
        await engine.settle_by(lambda c: settle_waiting(c, connection, by=connected.by))
        if source.status == "failing":
            catalog.upkeep.source_changed(source.id)

    return go_on
