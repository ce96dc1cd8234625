"""A connection that a new source is read with, and that is kept together with the source."""

from __future__ import annotations

from dataclasses import field, replace

from sqlalchemy.engine import Connection as Database

from executor.connections.connections import Connections
from executor.connections.new_connection import Offer, needed_for, pinned_origin, save
from executor.connections.placement import inputs_of, place
from executor.connections.resolution import ways_of
from executor.connections.schemes import Needed
from executor.dataclass import dataclass
from executor.errors import Conflict, InvalidRequest, NotFound
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

DOCUMENT = "document"  # the way of a connection that only reads: the document declares other credentials for calls


@dataclass(frozen=True, slots=True)
class FirstConnection:
    """`origin` is the one that people saw: the credential goes nowhere else.

    Code asks for one that its calls use. A person gives one to read the source: that may be another place.
    """

    connections: Connections
    offer: Offer
    origin: str
    by: Actor = field(repr=False)
    for_calls: bool = False

    def keep(self, c: Database, source: Source) -> None:
        """In the job that adds the source."""
        goes_to = pinned_origin(source)
        if self.for_calls and goes_to != self.origin:
            raise Conflict(
                f"the calls of {source.namespace} go to {goes_to}, but its credential is for {self.origin}",
                hint=f"if this is expected, pass `baseUrl`, here {goes_to}",
            )
        needed = needed_for(source, self.offer)
        if not self.for_calls:
            needed = replace(needed, name=way_for(source, needed))
        actor_id = self.by.id if self.offer.scope == "actor" else ""
        secrets = self.connections.secrets
        save(c, secrets, source, needed, self.offer, actor_id=actor_id, by=self.by, origin=self.origin)


def way_for(source: Source, needed: Needed) -> str:
    """The scheme of the document that sends the same; if it declares only others, none of those calls uses it."""
    declared = ways_of(source, None)
    sent = [dict(one) for one in needed.placements]
    same = next((one.name for one in declared if [dict(part) for part in one.placements] == sent), "")
    return same or (DOCUMENT if declared else "")


async def equip(
    connections: Connections, request: SourceRequest, offer: Offer, by: Actor | Execution
) -> tuple[SourceRequest, FirstConnection]:
    """The request with its credential. Someone who may administer the workspace gave or approved exactly this."""
    if not offer.placements:
        raise InvalidRequest(
            "`credential` doesn't say where it goes", hint="pass `placements`, as the answer to a probe lists them"
        )
    by_code = isinstance(by, Execution)
    origin = parse((request.base_url or request.location) if by_code else (request.spec_url or request.location)).origin
    values = dict(offer.values)
    for part, name in offer.secrets.items():
        values[part] = await read_secret(connections, by.workspace_id, name, origin)
    if lacking := [name for name in inputs_of(tuple(offer.placements)) if not values.get(name)]:
        raise InvalidRequest(f"the credential lacks {', '.join(lacking)}", hint="enter every part of it")
    placements = [dict(one) for one in offer.placements]
    draft = Connection(new_id("con"), by.workspace_id, "", "", "headers", origin, options={"placements": placements})
    credential = place(draft, values)
    in_use.remember(credential.values)
    request = reader.redacting(reader.with_credential(request, credential), credential.values)
    return request, FirstConnection(connections, offer, origin, person_behind(by), for_calls=by_code)


def person_behind(by: Actor | Execution) -> Actor:
    """What code asks for was approved by someone who may do it."""
    if isinstance(by, Actor):
        return by
    return Actor(by.actor_id, by.workspace_id, "agent", "", frozenset({"administer", "connect"}))


async def read_secret(connections: Connections, workspace_id: str, name: str, origin: str) -> str:
    """The error doesn't repeat the name: someone may have written the value itself."""
    try:
        secret = await connections.secrets.get(workspace_id, name)
    except NotFound:
        raise NotFound(
            "the credential names a secret that doesn't exist",
            hint="pass the name of a stored secret, never its value; a human can store one under Secrets",
        ) from None
    check_origin(secret if secret.origins else replace(secret, origins=(origin,)), origin)
    return await connections.secrets.value(workspace_id, secret.id)
