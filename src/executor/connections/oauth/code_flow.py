"""The login of a person in a browser: authorization code with PKCE, bound to the browser that began it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets as random
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from sqlalchemy.engine import Connection as Database_

from executor.connections.oauth import new_connection, sealing, token_endpoint
from executor.connections.oauth.client_registration import Clients
from executor.connections.oauth.http import HttpClient
from executor.connections.oauth.metadata import Server
from executor.connections.oauth.new_connection import Connected, Terms
from executor.dataclass import dataclass
from executor.errors import EgressRefused, OAuthFailed
from executor.model.digest import digest_text
from executor.model.identity.actor import Actor
from executor.model.ids import now_ms
from executor.network.addresses import display_url, parse
from executor.secrets.secrets import Secrets
from executor.storage.credentials import oauth_flows
from executor.storage.credentials.oauth_flows import FlowRow
from executor.storage.database import Database
from executor.storage.executions import events

LIFETIME_MS = 10 * 60_000
TICKET = "ticket "  # before the digest of a ticket, in the place of a browser's
OWN = frozenset(
    ("response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method",
     "resource", "response_mode", "request", "request_uri")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Begun:
    """`browser` goes into a cookie named `cookie`, or `ticket` into a link that one browser may open once."""

    url: str
    expires_at: int
    cookie: str
    browser: str = field(default="", repr=False)
    ticket: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Callback:
    """What came back in the browser: the query, its cookie of a name, and from where."""

    query: Mapping[str, str] = field(repr=False)
    cookie: Callable[[str], str] = field(repr=False)
    address: str = ""


class CodeFlow:
    def __init__(self, database: Database, secrets: Secrets, http: HttpClient, clients: Clients) -> None:
        self._database = database
        self._sealing = secrets.sealing
        self._http = http
        self._clients = clients

    async def begin(self, actor: Actor, terms: Terms, *, interaction_id: str, in_browser: bool) -> Begun:
        client = await self._clients.by_id(actor.workspace_id, terms.client_row)
        if client is None:
            raise OAuthFailed("the OAuth client was removed", hint=token_endpoint.AGAIN)
        self._check(terms)
        state, verifier, shown_once = (random.token_urlsafe(32) for _ in range(3))
        url = self._authorization_url(terms, client.client_id, state, verifier)
        digest, at = digest_text(state), now_ms()
        bound = digest_text(shown_once) if in_browser else TICKET + digest_text(shown_once)
        kept = {"terms": terms.pack(), "verifier": verifier, "url": url, "actor": actor.name}

        def job(c: Database_) -> None:
            context = sealing.flow_context(actor.workspace_id, digest)
            sealed = sealing.seal(c, self._sealing, kept, context)
            row = FlowRow(digest, actor.workspace_id, "", actor.id, bound, sealed.key_id, sealed.data, at,
                          at + LIFETIME_MS, interaction_id)  # fmt: skip
            oauth_flows.insert_flow(c, row)

        await self._database.write(job)
        given = {"browser": shown_once} if in_browser else {"ticket": shown_once}
        return Begun(url, at + LIFETIME_MS, cookie_name(digest), **given)

    async def look(self, ticket: str) -> tuple[str, Terms, str]:
        """In which workspace a link is, for what, and who made it; nothing is spent."""
        flow = await self._database.read(lambda c: oauth_flows.by_browser(c, TICKET + digest_text(ticket), now_ms()))
        if flow is None:
            raise OAuthFailed("this link was already used or has expired", hint="start the login again")
        kept = await self._unseal(flow)
        return flow.workspace_id, new_connection.unpack_terms(kept["terms"]), kept["actor"]

    async def take_up(self, ticket: str) -> Begun:
        """The browser that opens the link first is the one that the answer must come back in."""
        bound, browser = TICKET + digest_text(ticket), random.token_urlsafe(32)

        def job(c: Database_) -> FlowRow | None:
            flow = oauth_flows.by_browser(c, bound, now_ms())
            taken = flow is not None and oauth_flows.bind_flow(c, flow.state_digest, bound, digest_text(browser))
            return flow if taken else None

        flow = await self._database.write(job)
        if flow is None:
            raise OAuthFailed("this link was already used or has expired", hint="start the login again")
        kept = await self._unseal(flow)
        return Begun(kept["url"], flow.expires_at, cookie_name(flow.state_digest), browser=browser)

    async def finish(self, callback: Callback) -> Connected:
        """Whatever comes of it, the state is spent; and what fails is in the audit."""
        digest = digest_text(callback.query.get("state", ""))
        try:
            return await self._finish(digest, callback)
        except OAuthFailed as error:
            details = {"error": error.message, "address": callback.address}
            await self._database.write(lambda c: note_failure(c, digest, details))
            raise

    async def _finish(self, digest: str, callback: Callback) -> Connected:
        flow = await self._database.write(lambda c: oauth_flows.spend_flow(c, digest, now_ms()))
        if flow is None:
            raise OAuthFailed(
                "this answer belongs to no pending login: it was already used or has expired",
                hint="start the login again",
            )
        shown_by_browser = digest_text(callback.cookie(cookie_name(digest)))
        if not hmac.compare_digest(shown_by_browser, flow.browser_digest):
            raise OAuthFailed(
                "this answer came from a different browser than the one that started the login",
                hint="start the login again and stay in one browser",
            )
        kept = await self._unseal(flow)
        terms = new_connection.unpack_terms(kept["terms"])
        code = self._code(terms, callback.query)
        await self._database.read(lambda c: starter(c, flow, terms, callback))  # before the code is sent anywhere
        return await self._exchange(flow, terms, code, kept["verifier"], callback)

    async def _exchange(self, flow: FlowRow, terms: Terms, code: str, verifier: str, callback: Callback) -> Connected:
        client = await self._clients.by_id(flow.workspace_id, terms.client_row)
        if client is None:
            raise OAuthFailed("the OAuth client was removed", hint=token_endpoint.AGAIN)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._clients.redirect_uri,
            "code_verifier": verifier,
            **({"resource": terms.resource} if terms.resource else {}),
        }
        try:
            granted = await token_endpoint.ask(self._http, terms.endpoint(client), form)
        except OAuthFailed as error:
            if error.details.get("error") == "invalid_client":
                await self._clients.forget(flow.workspace_id, client)
            raise

        def job(c: Database_) -> Connected:
            by = starter(c, flow, terms, callback)
            return new_connection.save(c, self._sealing, flow.workspace_id, terms, granted, by=by)

        done = await self._database.write(job)
        return Connected(done.connection, done.source, done.by, flow.interaction_id, done.granted)

    def _code(self, terms: Terms, query: Mapping[str, str]) -> str:
        """The code, from the server that was asked and no other (RFC 9207); or the server's own error."""
        issuer, server = query.get("iss"), terms.server
        expected = issuer is not None or server.states_issuer
        if expected and (issuer is None or not is_from(server, issuer)):
            asked = server.authorization_endpoint if server.is_declared else server.issuer
            raise OAuthFailed(
                f"the answer is from {display_url(issuer) if issuer else 'an unknown server'}, not from "
                f"{display_url(asked)}",
                hint="nothing was sent; start the login again, and if this repeats, do not trust this source",
            )
        if "error" in query:
            details = {"error": query["error"], "error_description": query.get("error_description", "")}
            raise token_endpoint.failure(server.authorization_endpoint, 400, details)
        if not query.get("code"):
            raise OAuthFailed(f"{display_url(server.issuer)} answered without a code", hint=token_endpoint.AGAIN)
        return query["code"]

    def _check(self, terms: Terms) -> None:
        server = terms.server
        if not server.authorization_endpoint:
            raise OAuthFailed(
                f"{display_url(server.issuer)} has no login page",
                hint="log in with a device code instead",
            )
        if not server.pkce:
            raise OAuthFailed(
                f"{display_url(server.issuer)} does not say that it verifies PKCE (S256), so a stolen "
                "code would be enough to log in",
                hint="its operator must list S256 in `code_challenge_methods_supported`; or use a token instead",
            )
        for endpoint in (server.authorization_endpoint, server.token_endpoint):
            self._http.check(endpoint, terms.allowed_origins)

    def _authorization_url(self, terms: Terms, client_id: str, state: str, verifier: str) -> str:
        """Parameters that the endpoint's own address has are kept, unless they are ours to say."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        parts = urlsplit(terms.server.authorization_endpoint)
        given = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in OWN]
        ours = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": self._clients.redirect_uri,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            **({"scope": " ".join(terms.scopes)} if terms.scopes else {}),
            **({"resource": terms.resource} if terms.resource else {}),
        }
        return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode([*given, *ours.items()]), ""))

    async def _unseal(self, flow: FlowRow) -> dict[str, Any]:
        context = sealing.flow_context(flow.workspace_id, flow.state_digest)
        return dict(
            await self._database.read(lambda c: sealing.unseal(c, self._sealing, flow.key_id, flow.sealed, context))
        )


def starter(c: Database_, flow: FlowRow, terms: Terms, callback: Callback) -> Actor:
    """In a job. The browser that comes back shows no other credential: what its person may do is looked up."""
    by = new_connection.starter_of(c, flow.workspace_id, flow.actor_id)
    new_connection.check_permitted(c, flow.workspace_id, terms, by)
    return replace(by, via="browser", address=callback.address)


def is_from(server: Server, issuer: str) -> bool:
    """Compared as text, as RFC 9207 says. Of a server that only a document speaks of no issuer is known: then it is the
    one that has the login page."""
    if not server.is_declared:
        return issuer == server.issuer
    try:
        return parse(issuer).origin == parse(server.authorization_endpoint).origin
    except EgressRefused:
        return False


def note_failure(c: Database_, state_digest: str, details: dict[str, str]) -> None:
    """A state that this daemon never issued belongs to no one's audit log."""
    flow = oauth_flows.known_flow(c, state_digest)
    if flow is not None:
        events.append(c, flow.workspace_id, "login.failed", {**details, "startedBy": flow.actor_id})


def cookie_name(state_digest: str) -> str:
    """One for each login, so that several can be under way in a browser."""
    return f"executor_oauth_{state_digest[:16]}"
