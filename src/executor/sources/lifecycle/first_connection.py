"""A connection that a new source is read with, and that is kept together with the source."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlalchemy.engine import Connection as Database

from executor.connections.connections import Connections
from executor.connections.new_connection import Offer, needed_for, pinned_origin, save
from executor.connections.placement import place
from executor.errors import Conflict, NotFound
from executor.model.credentials import Connection
from executor.model.execution import Execution
from executor.model.identity.actor import Actor
from executor.model.ids import new_id
from executor.model.source import Source
from executor.network.addresses import parse
from executor.secrets import in_use
from executor.secrets.origins import check_origin
from executor.sources.lifecycle import reader
from executor.sources.source_request import SourceRequest


@dataclass(frozen=True, slots=True)
class FirstConnection:
    """`origin` is the one that people saw: the credential goes nowhere else."""

    connections: Connections
    offer: Offer
    origin: str
    by: Actor = field(repr=False)

    def keep(self, c: Database, source: Source) -> None:
        """In the job that adds the source."""
        goes_to = pinned_origin(source)
        if goes_to != self.origin:
            raise Conflict(
                f"the calls of {source.namespace} go to {goes_to}, but its credential is for {self.origin}",
                hint=f"if this is expected, pass baseUrl, here {goes_to}",
            )
        needed = needed_for(source, self.offer)
        actor_id = self.by.id if self.offer.scope == "actor" else ""
        secrets = self.connections.secrets
        save(c, secrets, source, needed, self.offer, actor_id=actor_id, by=self.by, origin=self.origin)


async def equip(
    connections: Connections, request: SourceRequest, offer: Offer, by: Execution
) -> tuple[SourceRequest, FirstConnection]:
    """The request with its credential. Someone who may administer the workspace has approved exactly this."""
    origin = parse(request.base_url or request.location).origin
    administrator = Actor(by.actor_id, by.workspace_id, "agent", "", frozenset({"administer", "connect"}))
    values = dict(offer.values)
    for part, name in offer.secrets.items():
        values[part] = await read_secret(connections, by.workspace_id, name, origin)
    placements = [dict(one) for one in offer.placements]
    draft = Connection(new_id("con"), by.workspace_id, "", "", "headers", origin, options={"placements": placements})
    credential = place(draft, values)
    in_use.remember(credential.values)
    request = reader.redacting(reader.with_credential(request, credential), credential.values)
    return request, FirstConnection(connections, offer, origin, administrator)


async def read_secret(connections: Connections, workspace_id: str, name: str, origin: str) -> str:
    """The error doesn't repeat the name: someone may have written the value itself."""
    try:
        secret = await connections.secrets.get(workspace_id, name)
    except NotFound:
        raise NotFound(
            "`headers` or `auth` names a secret that doesn't exist",
            hint="pass the name of a stored secret, never its value; a human can store one under Secrets",
        ) from None
    check_origin(secret if secret.origins else replace(secret, origins=(origin,)), origin)
    return await connections.secrets.value(workspace_id, secret.id)
