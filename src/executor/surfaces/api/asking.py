"""Who asks, of which source, and with which credential: what a human wants to know of a question besides the call."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from executor.model.interaction import Interaction
from executor.storage import connections, reach
from executor.surfaces import views
from executor.surfaces.api.context import Context


async def told(here: Context, asked: Sequence[Interaction]) -> list[views.View]:
    """Names are looked up as they are now; the ids that the decision is bound to stay beside them."""

    def names(c: Connection) -> tuple[dict[str, str], dict[str, str]]:
        known = {one.id: one.name for one in connections.listing(c, here.workspace_id)}
        return reach.actor_names(c, here.workspace_id), known

    actors, credentials = await here.executor.database.read(names) if asked else ({}, {})
    return [_told(one, here.executor.settings.address, actors, credentials) for one in asked]


def _told(asked: Interaction, base_url: str, actors: dict[str, str], credentials: dict[str, str]) -> views.View:
    connection_id = asked.binding.connection.partition("@")[0]
    return {
        **views.interaction_view(asked, base_url),
        "callSeq": asked.call_seq,
        "actorId": asked.binding.actor_id,
        "actor": actors.get(asked.binding.actor_id),
        "source": asked.prompt.get("source"),
        "question": asked.prompt.get("question"),
        "description": asked.prompt.get("description"),
        "connection": credentials.get(connection_id),
        "settledByName": actors.get(asked.settled_by),
    }
