"""A login that came to its end: the connection and its grant, written together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from sqlalchemy.engine import Connection as Database

from executor.connections import new_connection
from executor.connections.oauth import metadata
from executor.connections.oauth import sealing as grant_sealing
from executor.connections.oauth.http import Origins
from executor.connections.oauth.metadata import Server
from executor.connections.oauth.token_endpoint import Client, Endpoint, Tokens
from executor.connections.resolution import WAY, ways_of
from executor.connections.schemes import BEARER, Needed
from executor.dataclass import dataclass
from executor.errors import Forbidden, NotFound, OAuthFailed
from executor.model.credentials import Connection
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import lacking, require
from executor.model.ids import new_id, now_ms
from executor.model.source import Source
from executor.secrets.sealing import Sealing
from executor.storage.catalog import sources
from executor.storage.credentials import connections
from executor.storage.credentials.connections import Grant
from executor.storage.executions import events
from executor.storage.identity import tenancy

OAUTH = "oauth"  # in a connection's options: how its grant is renewed


@dataclass(frozen=True, slots=True)
class Terms:
    """What a login is for, and how its grant will be renewed. Fixed when it begins: later metadata changes nothing."""

    source_id: str
    name: str
    actor_id: str  # whose it will be; empty for the workspace's
    server: Server
    client_row: str
    scopes: tuple[str, ...] = ()
    resource: str = ""
    origins: tuple[str, ...] = ()
    grant_type: str = "authorization_code"
    way: str = ""  # the scheme of the source's document that it satisfies
    confirmed: tuple[str, ...] = ()  # origins of servers that a person has named

    def pack(self) -> dict[str, Any]:
        return {
            "sourceId": self.source_id,
            "name": self.name,
            "actorId": self.actor_id,
            "client": self.client_row,
            "scopes": list(self.scopes),
            "resource": self.resource,
            "origins": list(self.origins),
            "grantType": self.grant_type,
            "way": self.way,
            "confirmed": list(self.confirmed),
            "server": self.server.pack(),
        }

    def endpoint(self, client: Client, *, refresh: bool = False) -> Endpoint:
        url = self.server.refresh_endpoint if refresh and self.server.refresh_endpoint else self.server.token_endpoint
        return Endpoint(url, client, self.allowed_origins, self.server.issuer)

    @property
    def allowed_origins(self) -> Origins:
        return frozenset(self.origins)


def unpack_terms(data: Mapping[str, Any]) -> Terms:
    return Terms(
        data["sourceId"],
        data["name"],
        data["actorId"],
        metadata.unpack_server(data["server"]),
        data["client"],
        tuple(data["scopes"]),
        data["resource"],
        tuple(data["origins"]),
        data["grantType"],
        data["way"],
        tuple(data.get("confirmed", ())),
    )


@dataclass(frozen=True, slots=True)
class Connected:
    """`interaction_id` is what the login was begun for, if anything waits for it."""

    connection: Connection
    source: Source
    by: Actor
    interaction_id: str = ""
    granted: tuple[str, ...] = field(default=())


def starter_of(c: Database, workspace_id: str, actor_id: str) -> Actor:
    """Who started a login, with what they may do now. Raises OAuthFailed if they are no longer a member."""
    known = tenancy.actor(c, workspace_id, actor_id)
    by = tenancy.human(c, workspace_id, known.account_id, create=False) if known is not None else None
    if by is None:
        raise OAuthFailed("the person who started this login is no longer a member", hint="someone else can log in")
    return by


def check_permitted(c: Database, workspace_id: str, terms: Terms, by: Actor) -> None:
    """In a job. A login takes minutes, in which a role may be taken away. Raises OAuthFailed."""
    try:
        if not by.may("connect"):
            raise lacking("connect", "connecting")
        if not terms.actor_id:
            require(by, "sharing a connection with the workspace")
        new_connection.check_owner(c, workspace_id, terms.actor_id, by)
    except Forbidden as error:
        raise OAuthFailed(error.message, hint=error.hint) from error


def save(c: Database, sealing: Sealing, workspace_id: str, terms: Terms, tokens: Tokens, *, by: Actor) -> Connected:
    """In a writing job. A new consent replaces the grant; what was approved with the old one needs approval again."""
    check_permitted(c, workspace_id, terms, by)
    source = sources.get(c, workspace_id, terms.source_id)
    if source is None:
        raise NotFound("the source was removed in the meantime", hint="add it again, then log in")
    needed = way_of(source, terms.way)
    before, at = connections.find_named(c, source.id, terms.actor_id, terms.name), now_ms()
    connection = Connection(
        id=before.id if before else new_id("con"),
        workspace_id=workspace_id,
        source_id=source.id,
        name=terms.name,
        scheme="oauth2",
        origin=new_connection.pinned_origin(source),
        actor_id=terms.actor_id,
        options={"placements": [dict(one) for one in needed.placements], WAY: needed.name, OAUTH: terms.pack()},
        revision=before.revision if before else 1,
        created_by=by.id,
        created_at=before.created_at if before else at,
        updated_at=at,
    )
    (connections.update if before else connections.insert)(c, connection)
    granted = tokens.scopes or terms.scopes
    known = connections.grant(c, connection.id)
    generation = known.generation + 1 if known is not None else 1
    connections.store_grant(c, sealed_grant(c, sealing, connection, generation, tokens, granted))
    data = {
        **new_connection.describe_connection(connection, source),
        "issuer": terms.server.issuer,
        "scopes": list(granted),
    }
    events.append(c, workspace_id, "connection.replaced" if before else "connection.added", data, by=by)
    kept = connections.get(c, workspace_id, connection.id) or connection
    return Connected(kept, source, by, granted=granted)


def sealed_grant(
    c: Database, sealing: Sealing, connection: Connection, generation: int, tokens: Tokens, scopes: tuple[str, ...]
) -> Grant:
    context = grant_sealing.grant_context(connection.workspace_id, connection.id)
    sealed = grant_sealing.seal(c, sealing, tokens.pack(), context)
    return Grant(
        connection.id, connection.workspace_id, generation, sealed.key_id, sealed.data, scopes, tokens.expires_at
    )


def opened_grant(c: Database, sealing: Sealing, grant: Grant) -> Tokens:
    context = grant_sealing.grant_context(grant.workspace_id, grant.connection_id)
    data = grant_sealing.unseal(c, sealing, grant.key_id, grant.sealed, context)
    return Tokens(data["access"], data["refresh"], grant.scopes, grant.expires_at, data["lifetime"])


def way_of(source: Source, way: str = "") -> Needed:
    """The scheme called `way`, or the first that is a login."""
    found = [one for one in ways_of(source, None) if one.scheme == "oauth2"]
    chosen = next((one for one in found if one.name == way), found[0] if found else None)
    return chosen or Needed("", "oauth2", (BEARER,))
