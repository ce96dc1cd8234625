"""`Grants`: access tokens that are good for a call, renewed once however many calls want one.

Renewing is claimed in the database by the grant's generation: of all tasks and processes one asks the server, the rest
wait for the next generation. The new refresh token is written in the same statement that forgets the old one.
"""

from __future__ import annotations

import asyncio
import logging
import secrets as random
from dataclasses import replace

from sqlalchemy.engine import Connection as Database_

from executor.connections.oauth import new_connection
from executor.connections.oauth import token_endpoint as tokens
from executor.connections.oauth.client_registration import Clients
from executor.connections.oauth.http import BOUNDS, HttpClient
from executor.connections.oauth.new_connection import OAUTH, Terms
from executor.connections.oauth.token_endpoint import Client, Tokens
from executor.dataclass import dataclass
from executor.errors import CredentialRequired, OAuthFailed, StorageError
from executor.model.credentials import Connection, ConnectionStatus
from executor.model.ids import now_ms
from executor.secrets.secrets import Secrets
from executor.storage.credentials import connections
from executor.storage.database import Database
from executor.storage.executions import events

CLAIM_MS = int(BOUNDS.seconds * 3_000)  # longer than both requests that a renewal may take
FIRST_LOOK, LONGEST_LOOK = 0.02, 0.5
PATIENCE = CLAIM_MS / 1000 + 10.0
KEPT = 1_000
LOST = ("invalid_grant", "invalid_client", "unauthorized_client")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Held:
    generation: int
    tokens: Tokens


class AccessTokens:
    def __init__(self, database: Database, secrets: Secrets, http: HttpClient, clients: Clients) -> None:
        self._database = database
        self._sealing = secrets.sealing
        self._http = http
        self._clients = clients
        self._owner = random.token_hex(16)
        self._known: dict[tuple[str, int], Held] = {}
        self._renewing: dict[str, asyncio.Task[Held]] = {}
        self._unsaved: dict[str, Held] = {}

    async def access_token(self, connection: Connection, *, rejected: str = "") -> str:
        """Raises CredentialRequired if a person has to consent again, OAuthFailed if the server can't be asked now.

        `rejected` is a token that the service did not take, although it looked good.
        """
        held = self._known.get(key(connection))
        if held is None or not good(held.tokens, rejected):
            held = await self._read(connection)
        if not good(held.tokens, rejected):
            held = await self._await_renewal(connection, held, rejected)
        if len(self._known) >= KEPT:
            self._known.clear()
        self._known[key(connection)] = held
        return held.tokens.access

    async def close(self) -> None:
        """What a server has given is written before anything ends."""
        if self._renewing:
            await asyncio.wait(self._renewing.values())

    async def _read(self, connection: Connection) -> Held:
        def read(c: Database_) -> Held | None:
            grant = connections.grant(c, connection.id)
            return (
                None if grant is None else Held(grant.generation, new_connection.opened_grant(c, self._sealing, grant))
            )

        held = await self._database.read(read)
        if held is None:
            raise consent_needed(connection, "it was never granted")
        return held

    async def _await_renewal(self, connection: Connection, held: Held, rejected: str) -> Held:
        """One task renews for all who wait here; it continues when they leave."""
        task = self._renewing.get(connection.id)
        if task is None:
            task = asyncio.create_task(self._renew(connection, rejected))
            self._renewing[connection.id] = task
            task.add_done_callback(lambda done: self._over(connection.id, done))
        try:
            return await asyncio.shield(task)
        except OAuthFailed as error:
            if error.details.get("unreachable") and held.tokens.is_usable(now_ms()) and held.tokens.access != rejected:
                return held
            raise

    def _over(self, connection_id: str, task: asyncio.Task[Held]) -> None:
        self._renewing.pop(connection_id, None)
        if not task.cancelled():
            task.exception()  # perhaps no one waits

    async def _renew(self, connection: Connection, rejected: str) -> Held:
        loop, wait = asyncio.get_running_loop(), FIRST_LOOK
        until = loop.time() + PATIENCE
        while loop.time() < until:
            held = await self._read(connection)
            if good(held.tokens, rejected):
                return held
            if await self._claim(connection, held):
                return await self._ask_and_keep(connection, held)
            await asyncio.sleep(wait)  # another process has claimed it
            wait = min(wait * 2, LONGEST_LOOK)
        raise OAuthFailed("another process did not renew the token in time", hint="try again", unreachable=True)

    async def _claim(self, connection: Connection, held: Held) -> bool:
        def job(c: Database_) -> bool:
            now = now_ms()
            return connections.claim_refresh(c, connection.id, held.generation, self._owner, now, now + CLAIM_MS)

        return await self._database.write(job)

    async def _ask_and_keep(self, connection: Connection, held: Held) -> Held:
        unsaved = self._unsaved.get(connection.id)
        if unsaved is None or unsaved.generation != held.generation + 1:
            try:
                fresh = await self._ask(connection, held.tokens)
            except OAuthFailed as error:
                raise await self._note_failure(connection, held, error) from error
            unsaved = self._unsaved[connection.id] = Held(held.generation + 1, fresh)
        return await self._keep(connection, unsaved)

    async def _ask(self, connection: Connection, old: Tokens) -> Tokens:
        terms = new_connection.unpack_terms(connection.options[OAUTH])
        client = await self._clients.by_id(connection.workspace_id, terms.client_row)
        if client is None:
            raise OAuthFailed("its OAuth client was removed", error="invalid_client", hint=tokens.AGAIN)
        if terms.grant_type == "client_credentials":
            return await request_client_credentials(self._http, terms, client)
        if not old.refresh:
            raise OAuthFailed("it has expired and can't be renewed", error="invalid_grant", expired=True)
        return await refresh_tokens(self._http, terms, client, old)

    async def _keep(self, connection: Connection, fresh: Held) -> Held:
        """If the database fails now, the tokens stay here for the next attempt: the server knows no others."""

        def job(c: Database_) -> bool:
            scopes = fresh.tokens.scopes
            grant = new_connection.sealed_grant(c, self._sealing, connection, fresh.generation, fresh.tokens, scopes)
            return connections.finish_refresh(c, grant, self._owner)

        kept = await self._database.write(job)
        self._unsaved.pop(connection.id, None)
        return fresh if kept else await self._read(connection)

    async def _note_failure(self, connection: Connection, held: Held, error: OAuthFailed) -> Exception:
        """A grant that is lost is marked so once; the next call asks a person instead of the server."""
        lost = error.details.get("error") in LOST
        status: ConnectionStatus = "expired" if error.details.get("expired") else "revoked"

        def job(c: Database_) -> bool:
            grant = connections.grant(c, connection.id)
            mine = grant is not None and grant.generation == held.generation
            if mine and lost:
                connections.set_status(c, connection.id, status, error.message)
                data = {"id": connection.id, "name": connection.name, "status": status, "error": error.message}
                events.append(c, connection.workspace_id, "connection.marked", data)
            connections.release_refresh(c, connection.id, self._owner)
            return mine

        try:
            mine = await self._database.write(job)
        except StorageError:
            logger.warning("grant.not_released", extra={"connection": connection.id})  # the claim expires anyway
            return error
        return consent_needed(connection, error.message) if lost and mine else error


async def refresh_tokens(http: HttpClient, terms: Terms, client: Client, old: Tokens) -> Tokens:
    """For servers that reject the very scopes they granted: a second request without any scopes."""
    form = {"grant_type": "refresh_token", "refresh_token": old.refresh}
    if terms.resource:
        form["resource"] = terms.resource
    endpoint, named = terms.endpoint(client, refresh=True), {"scope": " ".join(old.scopes)} if old.scopes else {}
    try:
        fresh = await tokens.ask(http, endpoint, {**form, **named})
    except OAuthFailed as error:
        if error.details.get("error") != "invalid_scope" or not named:
            raise
        fresh = await tokens.ask(http, endpoint, form)
    return replace(fresh, refresh=fresh.refresh or old.refresh, scopes=fresh.scopes or old.scopes)


async def request_client_credentials(http: HttpClient, terms: Terms, client: Client) -> Tokens:
    """Client credentials: no one has to consent."""
    form = {"grant_type": "client_credentials"}
    form |= {"scope": " ".join(terms.scopes)} if terms.scopes else {}
    form |= {"resource": terms.resource} if terms.resource else {}
    fresh = await tokens.ask(http, terms.endpoint(client), form)
    return replace(fresh, refresh="", scopes=fresh.scopes or terms.scopes)


def key(connection: Connection) -> tuple[str, int]:
    return connection.id, connection.revision


def good(held: Tokens, rejected: str) -> bool:
    return held.is_fresh(now_ms()) and held.access != rejected


def consent_needed(connection: Connection, why: str) -> CredentialRequired:
    return CredentialRequired(
        f"the connection {connection.name!r} needs a new login: {why}",
        hint="log in again: `executor connections login SOURCE`",
        connection=connection.id,
    )
