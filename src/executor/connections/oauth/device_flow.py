"""The login of a person on another device (RFC 8628): a code to type in there, and polite asking here."""

from __future__ import annotations

import secrets as random
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from sqlalchemy.engine import Connection as Database_

from executor.connections.oauth import new_connection, sealing, token_endpoint
from executor.connections.oauth.client_registration import DEVICE_GRANT, Clients
from executor.connections.oauth.code_flow import note_failure
from executor.connections.oauth.endpoints import check_origins
from executor.connections.oauth.http import HttpClient
from executor.connections.oauth.metadata import address
from executor.connections.oauth.new_connection import Connected, Terms
from executor.dataclass import dataclass
from executor.errors import OAuthFailed
from executor.model.digest import digest_text
from executor.model.identity.actor import Actor
from executor.model.ids import now_ms
from executor.network.addresses import display_url
from executor.secrets.secrets import Secrets
from executor.storage.credentials import oauth_flows
from executor.storage.credentials.oauth_flows import FlowRow
from executor.storage.database import Database

LONGEST_MS = 30 * 60_000
INTERVAL = 5
SLOWER = 5  # seconds more, each time the server says `slow_down`


@dataclass(frozen=True, slots=True)
class Shown:
    """What a person types in, and where. `flow` is for querying its state."""

    flow: str = field(repr=False)
    user_code: str
    url: str
    complete_url: str
    expires_at: int
    interval: int


@dataclass(frozen=True, slots=True)
class LoginState:
    """`interval` is how many seconds to wait before asking again."""

    status: Literal["pending", "connected"]
    interval: int = INTERVAL
    connected: Connected | None = None


class DeviceFlow:
    def __init__(self, database: Database, secrets: Secrets, http: HttpClient, clients: Clients) -> None:
        self._database = database
        self._sealing = secrets.sealing
        self._http = http
        self._clients = clients

    async def begin(self, actor: Actor, terms: Terms, interaction_id: str = "") -> Shown:
        endpoint, client = terms.server.device_endpoint, await self._client(actor.workspace_id, terms)
        if not endpoint:
            raise OAuthFailed(
                f"{display_url(terms.server.issuer)} does not support device login",
                hint="log in with a browser instead",
            )
        form = {"scope": " ".join(terms.scopes)} if terms.scopes else {}
        if terms.resource:
            form["resource"] = terms.resource
        filled, headers = token_endpoint.authenticate_client(client, form, terms.server.issuer)
        status, answer = await self._http.post_form(endpoint, filled, headers, terms.allowed_origins)
        if status != 200 or "error" in answer or not isinstance(answer.get("device_code"), str):
            raise token_endpoint.failure(endpoint, status, answer, (client.secret,))
        url, whole = pages_of(answer)
        for page in filter(None, (url, whole)):
            check_origins({"device": endpoint, "verification": page}, terms.confirmed)
        handle, at = random.token_urlsafe(32), now_ms()
        seconds = token_endpoint.lifetime(answer.get("expires_in")) or 600
        until = at + min(seconds * 1000, LONGEST_MS)
        interval = min(max(token_endpoint.lifetime(answer.get("interval")) or INTERVAL, 1), 60)
        kept = {"terms": terms.pack(), "code": answer["device_code"], "interval": interval, "next": at}
        await self._insert(actor, digest_text(handle), kept, at, until, interaction_id)
        return Shown(handle, printable(answer.get("user_code")), url, whole, until, interval)

    async def ask(self, actor: Actor, handle: str) -> LoginState:
        """Queries the server once, and never sooner than it allows: callers who come too often just have to wait."""
        digest, at = digest_text(handle), now_ms()
        flow = await self._database.read(lambda c: oauth_flows.flow(c, digest, at))
        if flow is None or (flow.workspace_id, flow.actor_id) != (actor.workspace_id, actor.id):
            raise OAuthFailed("this login was already completed or has expired", hint="start it again")
        kept = await self._database.read(lambda c: self._unseal(c, flow))
        if at < kept["next"]:
            return LoginState("pending", kept["interval"])
        kept["next"] = at + kept["interval"] * 1000
        await self._database.write(lambda c: self._put(c, flow, kept))
        terms = new_connection.unpack_terms(kept["terms"])
        form = {"grant_type": DEVICE_GRANT, "device_code": kept["code"]}
        client = await self._client(actor.workspace_id, terms)
        try:
            granted = await token_endpoint.ask(self._http, terms.endpoint(client), form)
        except OAuthFailed as error:
            return await self._not_yet(flow, kept, error)
        done = await self._database.write(lambda c: self._finish(c, flow, terms, granted, actor))
        return LoginState("connected", kept["interval"], done)

    async def _not_yet(self, flow: FlowRow, kept: dict[str, Any], error: OAuthFailed) -> LoginState:
        said = error.details.get("error")
        if said == "slow_down":
            kept["interval"] += SLOWER
            kept["next"] = now_ms() + kept["interval"] * 1000
            await self._database.write(lambda c: self._put(c, flow, kept))
        elif said != "authorization_pending" and not error.details.get("unreachable"):
            await self._database.write(lambda c: self._give_up(c, flow, error))
            raise error
        return LoginState("pending", kept["interval"])

    def _give_up(self, c: Database_, flow: FlowRow, error: OAuthFailed) -> None:
        oauth_flows.spend_flow(c, flow.state_digest, now_ms())
        note_failure(c, flow.state_digest, {"error": error.message})

    def _finish(
        self, c: Database_, flow: FlowRow, terms: Terms, granted: token_endpoint.Tokens, actor: Actor
    ) -> Connected:
        if oauth_flows.spend_flow(c, flow.state_digest, now_ms()) is None:
            raise OAuthFailed("this login was already completed", hint="see `executor connections list`")
        done = new_connection.save(c, self._sealing, flow.workspace_id, terms, granted, by=actor)
        return Connected(done.connection, done.source, actor, flow.interaction_id, done.granted)

    async def _insert(
        self, actor: Actor, digest: str, kept: dict[str, Any], at: int, until: int, interaction_id: str
    ) -> None:
        def job(c: Database_) -> None:
            sealed = sealing.seal(c, self._sealing, kept, sealing.flow_context(actor.workspace_id, digest))
            row = FlowRow(digest, actor.workspace_id, "", actor.id, "device", sealed.key_id, sealed.data, at, until,
                          interaction_id)  # fmt: skip
            oauth_flows.insert_flow(c, row)

        await self._database.write(job)

    async def _client(self, workspace_id: str, terms: Terms) -> token_endpoint.Client:
        client = await self._clients.by_id(workspace_id, terms.client_row)
        if client is None:
            raise OAuthFailed("the OAuth client was removed", hint=token_endpoint.AGAIN)
        return client

    def _unseal(self, c: Database_, flow: FlowRow) -> dict[str, Any]:
        context = sealing.flow_context(flow.workspace_id, flow.state_digest)
        return dict(sealing.unseal(c, self._sealing, flow.key_id, flow.sealed, context))

    def _put(self, c: Database_, flow: FlowRow, kept: dict[str, Any]) -> None:
        context = sealing.flow_context(flow.workspace_id, flow.state_digest)
        sealed = sealing.seal(c, self._sealing, kept, context)
        oauth_flows.replace_flow(c, flow.state_digest, sealed.key_id, sealed.data)


def pages_of(answer: Mapping[str, Any]) -> tuple[str, str]:
    """Where a person types the code in, and the same with the code in it."""
    url = address(answer, "verification_uri") or address(answer, "verification_url")
    return url, address(answer, "verification_uri_complete")


def printable(value: Any) -> str:
    text = token_endpoint.clean(value, (), 100)
    if not text:
        raise OAuthFailed("the server returned no code to enter", hint=token_endpoint.AGAIN)
    return text
