"""Agents that no one vouches for. Each gets an organization and a workspace of its own, where no human can decide."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from sqlalchemy.engine import Connection

from executor.errors import Busy, Forbidden, Unauthorized
from executor.identity.new_token import ANONYMOUS, SESSION, digest, mint
from executor.identity.rate_limit import RateLimit
from executor.model.identity.access import AnonymousSession, Key
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import AGENT
from executor.model.ids import new_id, now_ms
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.identity import anonymous, api_keys, tenancy, workspaces

MOST = 200
UNUSED_MS = 7 * 86_400_000
IDLE_MS = 15 * 60_000  # without a single execution
RENEWALS = 10
RENEWALS_PER_SECOND = 1 / 60
TOKEN_MS = 86_400_000
STARTS = 10
STARTS_PER_SECOND = 10 / 3600


@dataclass(frozen=True, slots=True)
class Started:
    session_id: str = field(repr=False)  # anyone who knows it gets tokens; only its digest is kept
    workspace_id: str
    actor_id: str
    client_id: str


class Anonymous:
    def __init__(self, database: Database, *, admitted: bool) -> None:
        self._database = database
        self._admitted = admitted
        self.starts = RateLimit(STARTS, STARTS_PER_SECOND)
        self.failures = RateLimit(STARTS, 1.0)
        self._renewals = RateLimit(RENEWALS, RENEWALS_PER_SECOND)  # by session

    async def start(self, address: str) -> Started:
        self._refuse_unwanted()
        self.starts.take(address)
        return await self._database.write(lambda c: _start(c, address))

    async def token(self, session_id: str, client_id: str, address: str) -> tuple[str, int]:
        """A bearer token and when it expires. The one before it ends."""
        self._refuse_unwanted()
        with self.failures.limit_failures(address):
            since = now_ms() - UNUSED_MS
            known = await self._database.read(lambda c: anonymous.by_digest(c, digest(session_id), since))
            if known is not None and client_id in ("", known.client_id):
                self._renewals.take(known.id)
                found = await self._database.write(lambda c: _token(c, session_id, client_id, address))
                if found is not None:
                    return found
            raise Unauthorized(
                "this session is unknown or has expired", hint="POST /v1/auth/anonymous/bootstrap starts a new one"
            )

    async def listing(self) -> list[tuple[AnonymousSession, tuple[int, int, list[str]]]]:
        """With how many executions each has, how many bytes it keeps, and which of its executions have not ended."""
        return await self._database.read(
            lambda c: [(one, anonymous.use(c, one.workspace_id)) for one in anonymous.listing(c)]
        )

    async def clear(self, by: Actor, sessions: Collection[AnonymousSession]) -> None:
        """End them, and remove everything that is in their workspaces."""

        def write(c: Connection) -> None:
            for session in sessions:
                _remove(c, session)
            data = {"sessionIds": [session.id for session in sessions]}
            events.append(c, by.workspace_id, "session.cleared", data, by=by)

        await self._database.write(write)

    def _refuse_unwanted(self) -> None:
        if not self._admitted:
            raise Forbidden(
                "anonymous access is off",
                hint="ask for a token of your own; an operator can turn it on with the setting anonymous = on",
            )


def _start(c: Connection, address: str) -> Started:
    at = now_ms()
    _forget(c, at)
    if anonymous.count(c) >= MOST:
        hint = (
            "try again later, or ask for a token of your own; an operator can end sessions with "
            "`executor anonymous clear`"
        )
        raise Busy(f"{MOST} anonymous sessions are in use", hint=hint)
    organization = workspaces.create_organization(c, "anonymous")
    workspace = workspaces.create(c, organization.id, "default")
    actor = tenancy.add_actor(c, workspace.id, "agent", "anonymous")
    minted = mint(SESSION)
    made = AnonymousSession(new_id("ano"), workspace.id, actor.id, new_id("cli"), at, at)
    anonymous.insert(c, made, minted.digest)
    data = {"clientId": made.client_id}
    events.append(c, workspace.id, "session.started", data, by=_acting(actor, made, address))
    return Started(minted.token, workspace.id, actor.id, made.client_id)


def _token(c: Connection, session_id: str, client_id: str, address: str) -> tuple[str, int] | None:
    at = now_ms()
    found = anonymous.by_digest(c, digest(session_id), at - UNUSED_MS)
    actor = tenancy.actor(c, found.workspace_id, found.actor_id) if found else None
    if found is None or actor is None or client_id not in ("", found.client_id):
        return None
    minted, expires_at = mint(ANONYMOUS), at + TOKEN_MS
    acting = _acting(actor, found, address)
    for old in api_keys.listing(c, found.workspace_id, "anonymous", actor.id):
        events.append(c, found.workspace_id, "key.revoked", {"keyId": old.id, "name": old.name}, by=acting)
    api_keys.remove_of_actor(c, found.workspace_id, actor.id)
    scopes = tuple(sorted(AGENT))
    key = Key(
        new_id("key"), found.workspace_id, actor.id, "anonymous", "anonymous", minted.prefix, scopes, actor.id, at,
        expires_at=expires_at,
    )  # fmt: skip
    api_keys.insert(c, key, minted.digest)
    anonymous.touch(c, found.workspace_id, found.id, at)
    data = {"keyId": key.id, "name": key.name, "scopes": list(scopes), "prefix": key.prefix}
    events.append(c, found.workspace_id, "key.created", data, by=acting)
    return minted.token, expires_at


def _forget(c: Connection, at: int) -> None:
    for old in anonymous.list_unused(c, at - UNUSED_MS, at - IDLE_MS):
        _remove(c, old)


def _remove(c: Connection, session: AnonymousSession) -> None:
    """The event is gone with everything else, but listeners still receive it."""
    events.append(c, session.workspace_id, "session.lapsed", {"sessionId": session.id, "agentId": session.actor_id})
    anonymous.erase(c, session.workspace_id)


def _acting(actor: Actor, session: AnonymousSession, address: str) -> Actor:
    return replace(actor, via="anonymous", credential_id=session.id, address=address)
