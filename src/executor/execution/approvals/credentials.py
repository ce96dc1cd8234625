"""A human gives a credential: one transaction creates the connection and settles the calls that wait for it."""

from __future__ import annotations

from typing import Any

from sqlalchemy.engine import Connection as Database

from executor.connections import new_connection
from executor.connections.connections import Connections, check_scope
from executor.connections.new_connection import Offer
from executor.connections.resolution import WAY
from executor.connections.schemes import Needed
from executor.errors import Forbidden, InvalidRequest, NotFound
from executor.execution.approvals.authority import Authority
from executor.execution.approvals.expiry import Settled, check_open, is_past
from executor.execution.approvals.requests import NEEDS
from executor.execution.approvals.settlement import settle_open
from executor.execution.engine import Engine
from executor.model.credentials import Connection
from executor.model.identity.actor import Actor
from executor.model.interaction import Interaction
from executor.model.source import Source
from executor.storage.catalog import sources
from executor.storage.executions import executions, interactions

PAGE = 500


async def provide(
    engine: Engine, connections: Connections, actor: Actor, interaction_id: str, offer: Offer
) -> Interaction:
    """A connection for the actor whose call waits, or for the whole workspace. The values are never shown again."""
    if not actor.may("connect"):
        raise Forbidden("only a human may provide a credential", hint="use a terminal, or a browser that is signed in")
    check_scope(offer.scope, actor)

    def job(c: Database) -> Settled:
        asked = waiting(c, actor.workspace_id, interaction_id)
        wanted = asked.prompt["credential"]
        candidates = list_wanting(c, actor.workspace_id, wanted["sourceId"], wanted["origin"])
        executions.lock(c, {one.execution_id for one in (asked, *candidates)})
        asked = waiting(c, actor.workspace_id, interaction_id)
        Authority(c, actor).check(asked, approves=True)
        source = source_of(c, asked)
        needed = way_of(wanted, source, offer)
        owner = asked.binding.actor_id if offer.scope == "actor" else ""
        new_connection.check_owner(c, actor.workspace_id, owner, actor)
        made = new_connection.save(
            c, connections.secrets, source, needed, offer, actor_id=owner, by=actor, origin=wanted["origin"]
        )
        return settle_waiting(c, made, by=actor, first=asked)

    settled = await engine.settle_by(job)
    return settled[0]


async def resume_waiting(engine: Engine, connection: Connection, *, by: Actor) -> None:
    """Settle every interaction that waits for the credential of this connection."""
    await engine.settle_by(lambda c: settle_waiting(c, connection, by=by))


def settle_waiting(c: Database, connection: Connection, *, by: Actor, first: Interaction | None = None) -> Settled:
    """In a writing job: whatever waits for a credential that this connection is. Its engine carries it on."""
    wanting = list_wanting(c, connection.workspace_id, connection.source_id, connection.origin)
    also = [one for one in wanting if (first is None or one.id != first.id) and is_answered(one, connection)]
    return settle_open(c, also if first is None else [first, *also], "approved", by=by)


def list_wanting(c: Database, workspace_id: str, source_id: str, origin: str) -> list[Interaction]:
    """Pending ones that ask for a credential of this source at this place, oldest first."""
    page = interactions.page(c, workspace_id, status="pending", limit=PAGE)
    wanting = [(one, one.prompt.get("credential")) for one in reversed(page) if one.kind in NEEDS]
    return [one for one, wanted in wanting if wanted and (wanted["sourceId"], wanted["origin"]) == (source_id, origin)]


def is_answered(asked: Interaction, connection: Connection) -> bool:
    if is_past(asked):
        return False
    mine = connection.actor_id in ("", asked.binding.actor_id)
    way = connection.options.get(WAY, "")
    return mine and (not way or way in {one["name"] for one in asked.prompt["credential"]["ways"]})


def waiting(c: Database, workspace_id: str, interaction_id: str) -> Interaction:
    asked = interactions.get(c, workspace_id, interaction_id)
    if asked is None:
        raise NotFound(f"there is no interaction {interaction_id}", hint="see `executor approvals list`")
    check_open(c, asked)
    if asked.kind not in NEEDS:
        raise InvalidRequest(f"interaction {asked.id} does not ask for a credential", hint="approve or deny it")
    return asked


def source_of(c: Database, asked: Interaction) -> Source:
    source = sources.get(c, asked.workspace_id, asked.prompt["credential"]["sourceId"])
    if source is None:
        raise NotFound("the source of this call was removed", hint="deny it; the code then gets an error")
    return source


def way_of(wanted: dict[str, Any], source: Source, offer: Offer) -> Needed:
    """One of those that were shown, or by hand where the source does not say."""
    if offer.placements:
        return new_connection.needed_for(source, offer)
    return new_connection.choose_way([Needed.read(one) for one in wanted["ways"]], offer.way, source.namespace)
