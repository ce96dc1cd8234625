"""Being known at an authorization server: given by an operator, by the address of a document, or registered now."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from sqlalchemy.engine import Connection

from executor.connections.oauth import client_assertion, sealing
from executor.connections.oauth.http import HttpClient, Origins
from executor.connections.oauth.metadata import Server
from executor.connections.oauth.token_endpoint import Client, failure
from executor.errors import InvalidRequest, OAuthFailed
from executor.model.identity.actor import Actor
from executor.model.ids import new_id, now_ms
from executor.secrets.secrets import Secrets
from executor.storage.credentials import oauth_flows
from executor.storage.credentials.oauth_flows import ClientRow
from executor.storage.database import Database
from executor.storage.executions import events

NAME = "Executor"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
METHODS = ("none", "client_secret_basic", "client_secret_post")
GIVEN_METHODS = (*METHODS, client_assertion.METHOD)
MAX_TEXT = 4_096


class Clients:
    """`base_url` is where browsers find this installation. One client for each server, and reused."""

    def __init__(self, database: Database, secrets: Secrets, http: HttpClient, base_url: str) -> None:
        self._database = database
        self._secrets = secrets
        self._http = http
        self._base_url = base_url.rstrip("/")

    @property
    def redirect_uri(self) -> str:
        return f"{self._base_url}/oauth/callback"

    @property
    def document_url(self) -> str:
        """Empty unless others can read it: a server fetches it, and only over https."""
        return f"{self._base_url}/oauth/client.json" if self._base_url.startswith("https://") else ""

    def document(self) -> dict[str, Any]:
        """The client-id metadata document: who Executor is, for servers that look it up."""
        return {"client_id": self.document_url, "client_uri": self._base_url, **self._describe("none")}

    async def of(self, workspace_id: str, server: Server, origins: Origins) -> Client:
        known = await self._find_known(workspace_id, server)
        if known is not None:
            return known
        if server.takes_client_urls and self.document_url:
            row = self._row(workspace_id, server, self.document_url, {"kind": "document", "method": "none"})
            return await self._keep(row, "")
        if server.registration_endpoint:
            return await self._register(workspace_id, server, origins)
        raise OAuthFailed(
            f"{urlsplit(server.issuer).hostname} does not support automatic client registration",
            hint=f"register an app there with the redirect URL {self.redirect_uri}, then log in with its `clientId`",
            redirect_uri=self.redirect_uri,
        )

    async def give(self, actor: Actor, server: Server, client_id: str, secret: str = "", method: str = "") -> Client:
        """What an operator registered by hand. A private key in the place of a secret signs for it."""
        if not method and client_assertion.is_private_key(secret):
            method = client_assertion.METHOD
        method = method or self._method(server, has_secret=bool(secret))
        if method == client_assertion.METHOD:
            client_assertion.check_key(secret)
        most = client_assertion.MAX_KEY if method == client_assertion.METHOD else MAX_TEXT
        if not client_id or len(client_id) > MAX_TEXT or len(secret) > most or not client_id.isprintable():
            raise InvalidRequest("this is not a valid client ID", hint="copy it from where you registered the app")
        if method not in GIVEN_METHODS or (method == "none") == bool(secret):
            known = ", ".join(GIVEN_METHODS)
            raise InvalidRequest(f"the authentication method {method!r} does not match the client", hint=f"use {known}")
        row = self._row(actor.workspace_id, server, client_id, {"kind": "operator", "method": method})
        return await self._keep(row, secret, by=actor)

    async def by_id(self, workspace_id: str, row_id: str) -> Client | None:
        def read(c: Connection) -> Client | None:
            row = oauth_flows.client_by_id(c, workspace_id, row_id)
            return self._unseal(c, row) if row is not None else None

        return await self._database.read(read)

    async def forget(self, workspace_id: str, client: Client) -> None:
        """A registration that the server no longer knows: the next login makes another. An operator's is kept."""
        if client.kind == "registered":
            await self._database.write(lambda c: oauth_flows.drop_client(c, workspace_id, client.row_id))

    async def _find_known(self, workspace_id: str, server: Server) -> Client | None:
        def read(c: Connection) -> Client | None:
            row = oauth_flows.client(c, workspace_id, server.issuer, self.redirect_uri)
            if row is None or (row.expires_at is not None and row.expires_at <= now_ms()):
                return None
            return self._unseal(c, row)

        return await self._database.read(read)

    async def _register(self, workspace_id: str, server: Server, origins: Origins) -> Client:
        method = self._method(server, has_secret=False)
        url = server.registration_endpoint
        status, answer = await self._http.post_json(url, self._describe(method, server), origins)
        client_id, secret = answer.get("client_id"), answer.get("client_secret") or ""
        if status not in (200, 201) or not isinstance(client_id, str) or not client_id or not isinstance(secret, str):
            raise failure(url, status, answer)
        agreed = answer.get("token_endpoint_auth_method") or method
        if agreed not in METHODS or (agreed != "none" and not secret):
            raise OAuthFailed(f"{url} registered a client that can't authenticate", hint="pass the `clientId` of one")
        details = {"kind": "registered", "method": agreed}
        until = answer.get("client_secret_expires_at")
        expires_at = until * 1000 if secret and isinstance(until, int) and until > 0 else None
        return await self._keep(self._row(workspace_id, server, client_id, details, expires_at), secret)

    async def _keep(self, row: ClientRow, secret: str, by: Actor | None = None) -> Client:
        """Of two that registered at the same time the first stays; an operator's word replaces whatever is there."""

        def job(c: Connection) -> Client:
            present = oauth_flows.client(c, row.workspace_id, row.issuer, row.redirect_uri)
            if by is None and present is not None and (present.expires_at is None or present.expires_at > now_ms()):
                return self._unseal(c, present)
            # Grants name their client by the row: a new secret of the same client must not orphan them.
            row_id = present.id if present is not None and present.client_id == row.client_id else row.id
            context = sealing.client_context(row.workspace_id, row_id)
            sealed = sealing.seal(c, self._secrets.sealing, secret, context) if secret else None
            key_id, data = (sealed.key_id, sealed.data) if sealed is not None else ("", None)
            kept = ClientRow(
                row_id, row.workspace_id, row.issuer, row.redirect_uri, row.client_id, key_id, data,
                row.details, row.created_at, row.expires_at,
            )  # fmt: skip
            oauth_flows.put_client(c, kept)
            event = {"issuer": row.issuer, "clientId": row.client_id, "kind": row.details["kind"]}
            events.append(c, row.workspace_id, "client.added", event, by=by)
            return self._unseal(c, kept)

        return await self._database.write(job)

    def _unseal(self, c: Connection, row: ClientRow) -> Client:
        secret = ""
        if row.sealed is not None:
            context = sealing.client_context(row.workspace_id, row.id)
            secret = sealing.unseal(c, self._secrets.sealing, row.key_id, row.sealed, context)
        return Client(row.id, row.client_id, secret, row.details["method"], row.details["kind"])

    def _row(
        self, workspace_id: str, server: Server, client_id: str, details: dict[str, Any], expires_at: int | None = None
    ) -> ClientRow:
        return ClientRow(
            new_id("ocl"), workspace_id, server.issuer, self.redirect_uri, client_id,
            details=details, created_at=now_ms(), expires_at=expires_at,
        )  # fmt: skip

    def _method(self, server: Server, *, has_secret: bool) -> str:
        if not has_secret and ("none" in server.auth_methods or server.is_declared or not server.registration_endpoint):
            return "none"
        offered = [method for method in METHODS[1:] if method in server.auth_methods]
        return offered[0] if offered else "client_secret_basic"

    def _describe(self, method: str, server: Server | None = None) -> dict[str, Any]:
        grants = ["authorization_code", "refresh_token"]
        if server is not None and DEVICE_GRANT in server.grant_types:
            grants.append(DEVICE_GRANT)
        is_local = not self._base_url.startswith("https://")
        return {
            "client_name": NAME,
            "redirect_uris": [self.redirect_uri],
            "grant_types": grants,
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
            "application_type": "native" if is_local else "web",
        }
