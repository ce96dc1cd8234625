"""`Logins`: everything about getting a grant, from a source and a wish to a connection that is ready."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any, Literal

from sqlalchemy.engine import Connection as Database_

from executor.connections.connections import check_scope
from executor.connections.new_connection import check_name, check_owner
from executor.connections.oauth import discovery, new_connection
from executor.connections.oauth.access_tokens import AccessTokens, request_client_credentials
from executor.connections.oauth.client_registration import Clients
from executor.connections.oauth.code_flow import Begun, Callback, CodeFlow
from executor.connections.oauth.device_flow import DeviceFlow, LoginState, Shown
from executor.connections.oauth.endpoints import GrantType, check_origins, confirmed_origins, endpoints_of, host_of
from executor.connections.oauth.http import HttpClient
from executor.connections.oauth.new_connection import OAUTH, Connected, Terms
from executor.dataclass import dataclass
from executor.errors import Forbidden, NotFound, OAuthFailed
from executor.model.credentials import DEFAULT_NAME
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import require
from executor.model.interaction import Interaction
from executor.model.source import Source
from executor.network.addresses import parse
from executor.network.client import Egress
from executor.network.private_access import grant_of
from executor.secrets.secrets import Secrets
from executor.storage.catalog import sources
from executor.storage.credentials import connections
from executor.storage.database import Database
from executor.storage.executions import events, interactions

OnConnected = Callable[[Connected], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Wish:
    """`client_id` and `client_secret` are an operator's own registration; `allow` is the origin of a private server,
    `confirm` are those of a login that is spread over several.

    With an `interaction_id` the connection belongs to the actor of the waiting call, with the scopes that it needs.
    """

    source: str
    scopes: tuple[str, ...] = ()
    name: str = ""
    scope: Literal["actor", "workspace"] = "workspace"
    interaction_id: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    client_method: str = ""
    allow: str = ""
    confirm: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person is shown before a browser is sent to `page`; the code it brings back goes to `token`."""

    by: str
    source: str
    page: str
    token: str


class Logins:
    """`on_connected` are called after every completed login, so that whatever waits for it continues."""

    def __init__(self, database: Database, secrets: Secrets, egress: Egress, base_url: str) -> None:
        self._database = database
        self._sealing = secrets.sealing
        self._http = HttpClient(egress)
        self.clients = Clients(database, secrets, self._http, base_url)
        self.grants = AccessTokens(database, secrets, self._http, self.clients)
        self.code = CodeFlow(database, secrets, self._http, self.clients)
        self._device = DeviceFlow(database, secrets, self._http, self.clients)
        self.on_connected: list[OnConnected] = []

    async def begin(self, actor: Actor, wish: Wish, *, in_browser: bool) -> Begun:
        terms = await self._terms(actor, wish, "authorization_code")
        begun = await self.code.begin(actor, terms, interaction_id=wish.interaction_id, in_browser=in_browser)
        await self._note(actor, terms, "browser")
        return begun

    async def finish(self, callback: Callback) -> Connected:
        return await self._announce(await self.code.finish(callback))

    async def begin_device(self, actor: Actor, wish: Wish) -> Shown:
        terms = await self._terms(actor, wish, "device_code")
        shown = await self._device.begin(actor, terms, wish.interaction_id)
        await self._note(actor, terms, "device")
        return shown

    async def ask_device(self, actor: Actor, flow: str) -> LoginState:
        state = await self._device.ask(actor, flow)
        if state.connected is not None:
            await self._announce(state.connected)
        return state

    async def by_credentials(self, actor: Actor, wish: Wish) -> Connected:
        """Without a person: the client speaks for itself, by a secret or a key, which is not a member's."""
        require(actor, "using a stored secret")
        terms = await self._terms(actor, wish, "client_credentials")
        client = await self.clients.by_id(actor.workspace_id, terms.client_row)
        if client is None or not client.secret:
            raise OAuthFailed(
                "client credentials need a client with a secret or a private key",
                hint="pass its `clientId`, then enter its secret or private key",
            )
        granted = await request_client_credentials(self._http, terms, client)
        done = await self._database.write(
            lambda c: new_connection.save(c, self._sealing, actor.workspace_id, terms, granted, by=actor)
        )
        return await self._announce(Connected(done.connection, done.source, actor, wish.interaction_id, done.granted))

    async def look(self, ticket: str) -> Asked:
        """What a link is for; nothing is spent."""
        workspace_id, terms, who = await self.code.look(ticket)
        source = await self._database.read(lambda c: sources.get(c, workspace_id, terms.source_id))
        name, server = source.namespace if source is not None else "", terms.server
        return Asked(who, name, host_of(server.authorization_endpoint), host_of(server.token_endpoint))

    async def _announce(self, connected: Connected) -> Connected:
        for hook in self.on_connected:
            await hook(connected)
        return connected

    async def _terms(self, actor: Actor, wish: Wish, grant_type: GrantType) -> Terms:
        """Everything is decided here, before anything is shown; a login only carries it out."""
        check_scope(wish.scope, actor)
        if (wish.allow or wish.client_id) and not actor.may("administer"):
            raise Forbidden(
                "only an admin can set an OAuth client or allow a private server", hint="ask an admin of the workspace"
            )
        source = await self._source(actor, wish.source)
        asked = await self._find_interaction(actor, wish.interaction_id, source)
        name = name_for(wish, asked)
        origins = await self._origins(source, wish.allow)
        way = new_connection.way_of(source, way_asked(asked).get("name", "")).name
        found = await discovery.discover(self._http, source, way, frozenset(origins))
        if not found.server.token_endpoint:
            raise OAuthFailed(f"{found.server.issuer} names no token endpoint", hint="you can't log in to it")
        endpoints = endpoints_of(found.server, grant_type, registers=not wish.client_id)
        for url in endpoints.values():
            self._http.check(url, frozenset(origins))
        confirmed = await self._confirm_origins(actor, source, wish, endpoints)
        check_origins(endpoints, confirmed)
        if wish.client_id:
            given = (wish.client_id, wish.client_secret, wish.client_method)
            client = await self.clients.give(actor, found.server, *given)
        else:
            client = await self.clients.of(actor.workspace_id, found.server, frozenset(origins))
        owner = "" if wish.scope == "workspace" else asked.binding.actor_id if asked is not None else actor.id
        needed = await self._needed_scopes(source, owner, name, wish, asked)
        scopes = discovery.choose_scopes(found, needed, offline=grant_type != "client_credentials")
        parts = (found.server, client.row_id, scopes, found.resource, origins, grant_type)
        return Terms(source.id, name, owner, *parts, way=way, confirmed=tuple(sorted(confirmed)))

    async def _confirm_origins(
        self, actor: Actor, source: Source, wish: Wish, endpoints: Mapping[str, str]
    ) -> frozenset[str]:
        """Servers that a person names, with those of one login of theirs or of the workspace, if that is enough. Two
        logins would let a source have each server confirmed alone, and then mix them."""
        known = await self._database.read(lambda c: connections.of_source(c, source.id))
        before = [one.options[OAUTH]["server"] for one in known
                  if OAUTH in one.options and one.actor_id in ("", actor.id)]  # fmt: skip
        wanted = {parse(url).origin for url in endpoints.values()}
        found = (confirmed_origins(wish.confirm, [server]) for server in before)
        return next((one for one in found if wanted <= one), confirmed_origins(wish.confirm, ()))

    async def _source(self, actor: Actor, name: str) -> Source:
        source = await self._database.read(lambda c: sources.get(c, actor.workspace_id, name))
        if source is None:
            raise NotFound(f"there is no source {name[:80]!r}", hint="see `executor sources list`")
        return source

    async def _find_interaction(self, actor: Actor, interaction_id: str, source: Source) -> Interaction | None:
        if not interaction_id:
            return None
        asked = await self._database.read(lambda c: interactions.get(c, actor.workspace_id, interaction_id))
        wants = asked.prompt.get("credential", {}).get("sourceId") if asked is not None else None
        if asked is None or asked.status != "pending" or wants != source.id:
            raise NotFound("nothing is waiting for this login", hint="`executor approvals list` shows what is pending")
        await self._database.read(lambda c: check_owner(c, actor.workspace_id, asked.binding.actor_id, actor))
        return asked

    async def _needed_scopes(
        self, source: Source, owner: str, name: str, wish: Wish, asked: Interaction | None
    ) -> tuple[str, ...]:
        """What was said, or what the waiting call needs, beside what other calls have needed of the same connection."""
        scopes = wish.scopes or tuple(way_asked(asked).get("scopes") or ())
        if asked is None or not scopes:
            return scopes
        before = await self._database.read(lambda c: connections.find_named(c, source.id, owner, name))
        had = before.options.get(OAUTH, {}).get("scopes", ()) if before is not None else ()
        return tuple(dict.fromkeys([*had, *scopes]))

    async def _origins(self, source: Source, allow: str) -> tuple[str, ...]:
        """Private addresses: those of the source itself, and of the servers that an admin has allowed for it."""
        granted = list(source.known_keys.get("origins") or ())
        for one in await self._database.read(lambda c: connections.of_source(c, source.id)):
            granted += one.options.get(OAUTH, {}).get("origins", ())
        if allow and (grant := await grant_of(parse(allow))):
            granted.append(grant)
        return tuple(dict.fromkeys(granted))

    async def _note(self, actor: Actor, terms: Terms, how: str) -> None:
        data = {"sourceId": terms.source_id, "name": terms.name, "issuer": terms.server.issuer, "how": how}
        scopes = list(terms.scopes)

        def job(c: Database_) -> None:
            events.append(c, actor.workspace_id, "login.started", {**data, "scopes": scopes}, by=actor)

        await self._database.write(job)


def name_for(wish: Wish, asked: Interaction | None) -> str:
    """As was said, or that of the connection which the waiting call could not use."""
    name = wish.name or (asked.prompt["credential"].get("connection") if asked is not None else "") or DEFAULT_NAME
    check_name(name)
    return str(name)


def way_asked(asked: Interaction | None) -> Mapping[str, Any]:
    """Of what a waiting call takes, the first that is a login."""
    ways = asked.prompt.get("credential", {}).get("ways", ()) if asked is not None else ()
    return next((way for way in ways if way.get("scheme") == "oauth2"), {})
