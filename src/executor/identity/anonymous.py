"""Agents that no one vouches for. Each gets an organization and a workspace of its own.

One that is started by an agent has no human. One that is opened in a browser has: that browser alone decides there, and
hands the agent its key. Nothing that the agent holds leads to the browser's cookie.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import field, replace
from functools import partial

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import Busy, Forbidden, NotFound, Unauthorized
from executor.identity.new_token import ANONYMOUS, SESSION, VISITOR, digest, mint
from executor.identity.rate_limit import RateLimit
from executor.model.identity.access import AnonymousSession, Key
from executor.model.identity.actor import Actor, Workspace
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
BROWSER_MS = 7 * 86_400_000
STARTS = 10
STARTS_PER_SECOND = 10 / 3600


@dataclass(frozen=True, slots=True)
class Started:
    session_id: str = field(repr=False)  # anyone who knows it gets tokens; only its digest is kept
    workspace_id: str
    actor_id: str
    client_id: str


@dataclass(frozen=True, slots=True)
class Entered:
    """`cookie` is what the browser shows from now on; empty for one that shows a good one already."""

    session: AnonymousSession
    cookie: str = field(default="", repr=False)


async def let_go(workspace_id: str) -> None:
    """Nothing runs there."""


class Anonymous:
    """`abandon` lets go of everything that runs in a workspace which is about to be removed."""

    def __init__(self, database: Database, *, admitted: bool) -> None:
        self._database = database
        self.admitted = admitted
        self.abandon: Callable[[str], Awaitable[None]] = let_go
        self.starts = RateLimit(STARTS, STARTS_PER_SECOND)
        self.failures = RateLimit(STARTS, 1.0)
        self._renewals = RateLimit(RENEWALS, RENEWALS_PER_SECOND)  # by session

    async def start(self, address: str, session_id: str = "") -> Started:
        """A new session, or a known one again. An unknown id is refused: nothing says whose it was."""
        self._refuse_unwanted()
        if session_id:
            with self.failures.limit_failures(address):
                known = await self._find(session_id)
                if known is None:
                    raise unknown_session()
                return Started(session_id, known.workspace_id, known.actor_id, known.client_id)
        self.starts.take(address)
        await self.lapse()
        return await self._database.write(lambda c: _start(c, address))

    async def enter(self, address: str, cookie: str) -> Entered:
        """For a browser: the workspace that it opened before, or a new one."""
        self._refuse_unwanted()
        known = await self._find_opened(cookie)
        if known is not None:
            return Entered(known)
        self.starts.take(address)
        await self.lapse()
        return await self._database.write(lambda c: _enter(c, address))

    async def _find_opened(self, cookie: str) -> AnonymousSession | None:
        if not cookie:
            return None
        at = now_ms()
        return await self._database.read(lambda c: anonymous.by_cookie(c, digest(cookie), at))

    async def workspace(self, by: Actor) -> tuple[AnonymousSession, Key | None]:
        """The session of a browser, and the key that its agent has."""

        def read(c: Connection) -> tuple[AnonymousSession, Key | None]:
            session = _present(c, by.workspace_id)
            return session, next(iter(api_keys.listing(c, by.workspace_id, "anonymous", session.actor_id)), None)

        return await self._database.read(read)

    async def new_key(self, by: Actor) -> tuple[str, int]:
        """A key for the agent of a browser's workspace, and when it expires. The one before it ends."""
        self._renewals.take(by.credential_id)

        def write(c: Connection) -> tuple[str, int]:
            session = _present(c, by.workspace_id)
            return _issue(c, session, by, expires_at=session.expires_at or now_ms() + TOKEN_MS)

        return await self._database.write(write)

    async def leave(self, by: Actor) -> None:
        """The browser leaves its workspace, and no one could come back: it goes with everything in it."""
        await self._end([await self._database.read(lambda c: _present(c, by.workspace_id))])

    async def lapse(self) -> None:
        """End those that are over, or that no one uses."""
        at = now_ms()
        found = await self._database.read(lambda c: anonymous.list_lapsed(c, at, at - UNUSED_MS, at - IDLE_MS))
        await self._end(found)

    async def _end(self, sessions: Collection[AnonymousSession]) -> None:
        for session in sessions:
            await self.abandon(session.workspace_id)
            await self._database.write(partial(_remove, session=session))

    async def token(self, session_id: str, client_id: str, address: str) -> tuple[str, int]:
        """A bearer token and when it expires. The one before it ends."""
        self._refuse_unwanted()
        with self.failures.limit_failures(address):
            known = await self._find(session_id)
            if known is not None and client_id in ("", known.client_id):
                self._renewals.take(known.id)
                found = await self._database.write(lambda c: _token(c, session_id, client_id, address))
                if found is not None:
                    return found
            raise unknown_session()

    async def _find(self, session_id: str) -> AnonymousSession | None:
        since = now_ms() - UNUSED_MS
        return await self._database.read(lambda c: anonymous.by_digest(c, digest(session_id), since))

    async def client_of(self, actor: Actor) -> str:
        """The client id of the session whose token an agent shows."""
        return await self._database.read(lambda c: anonymous.client_of(c, actor.workspace_id, actor.id))

    async def listing(self) -> list[tuple[AnonymousSession, tuple[int, int, list[str]]]]:
        """With how many executions each has, how many bytes it keeps, and which of its executions have not ended."""
        return await self._database.read(
            lambda c: [(one, anonymous.use(c, one.workspace_id)) for one in anonymous.listing(c)]
        )

    async def clear(self, by: Actor, sessions: Collection[AnonymousSession]) -> None:
        """End them, and remove everything that is in their workspaces."""
        for session in sessions:
            await self.abandon(session.workspace_id)

        def write(c: Connection) -> None:
            for session in sessions:
                _remove(c, session)
            data = {"sessionIds": [session.id for session in sessions]}
            events.append(c, by.workspace_id, "session.cleared", data, by=by)

        await self._database.write(write)

    def _refuse_unwanted(self) -> None:
        if not self.admitted:
            raise Forbidden(
                "anonymous access is off",
                hint="ask for a token of your own; an operator can turn it on with the setting anonymous = on",
            )


def unknown_session() -> Unauthorized:
    return Unauthorized(
        "this session is unknown or has expired",
        hint="POST /v1/auth/anonymous/bootstrap without a `sessionId` starts a new one",
    )


def _start(c: Connection, address: str) -> Started:
    at, minted = now_ms(), mint(SESSION)
    workspace, actor = _make_room(c)
    made = AnonymousSession(new_id("ano"), workspace.id, actor.id, new_id("cli"), at, at)
    anonymous.insert(c, made, minted.digest)
    data = {"clientId": made.client_id}
    events.append(c, workspace.id, "session.started", data, by=_acting(actor, made, address))
    return Started(minted.token, workspace.id, actor.id, made.client_id)


def _enter(c: Connection, address: str) -> Entered:
    """No one learns a `sessionId` of it: its agent gets a key only from the browser."""
    at, minted = now_ms(), mint(VISITOR)
    workspace, actor = _make_room(c)
    human = tenancy.add_actor(c, workspace.id, "human", "anonymous browser")
    made = AnonymousSession(
        new_id("ano"), workspace.id, actor.id, new_id("cli"), at, at, human.id, expires_at=at + BROWSER_MS
    )
    anonymous.insert(c, made, mint(SESSION).digest, minted.digest)
    by = replace(human, via="anonymous_browser", credential_id=made.id, address=address)
    events.append(c, workspace.id, "session.started", {"clientId": made.client_id}, by=by)
    return Entered(made, minted.token)


def _make_room(c: Connection) -> tuple[Workspace, Actor]:
    """A workspace with an agent."""
    if anonymous.count(c) >= MOST:
        hint = (
            "try again later, or ask for a token of your own; an operator can end sessions with "
            "`executor anonymous clear`"
        )
        raise Busy(f"{MOST} anonymous sessions are in use", hint=hint)
    organization = workspaces.create_organization(c, "anonymous")
    workspace = workspaces.create(c, organization.id, "default")
    return workspace, tenancy.add_actor(c, workspace.id, "agent", "anonymous")


def _present(c: Connection, workspace_id: str) -> AnonymousSession:
    found = anonymous.of_workspace(c, workspace_id)
    if found is None:
        raise NotFound("this workspace is not an anonymous one", hint="it may have lapsed")
    return found


def _token(c: Connection, session_id: str, client_id: str, address: str) -> tuple[str, int] | None:
    at = now_ms()
    found = anonymous.by_digest(c, digest(session_id), at - UNUSED_MS)
    actor = tenancy.actor(c, found.workspace_id, found.actor_id) if found else None
    if found is None or actor is None or client_id not in ("", found.client_id):
        return None
    return _issue(c, found, _acting(actor, found, address), expires_at=at + TOKEN_MS)


def _issue(c: Connection, session: AnonymousSession, by: Actor, *, expires_at: int) -> tuple[str, int]:
    """A new key for the agent of a session; the one before it ends."""
    at, minted, agent_id = now_ms(), mint(ANONYMOUS), session.actor_id
    for old in api_keys.listing(c, session.workspace_id, "anonymous", agent_id):
        events.append(c, session.workspace_id, "key.revoked", {"keyId": old.id, "name": old.name}, by=by)
    api_keys.remove_of_actor(c, session.workspace_id, agent_id)
    scopes = tuple(sorted(AGENT))
    key = Key(
        new_id("key"), session.workspace_id, agent_id, "anonymous", "anonymous", minted.prefix, scopes, by.id, at,
        expires_at=expires_at,
    )  # fmt: skip
    api_keys.insert(c, key, minted.digest)
    anonymous.touch(c, session.workspace_id, at)
    data = {"keyId": key.id, "name": key.name, "scopes": list(scopes), "prefix": key.prefix}
    events.append(c, session.workspace_id, "key.created", data, by=by)
    return minted.token, expires_at


def _remove(c: Connection, session: AnonymousSession) -> None:
    """The event is gone with everything else, but listeners still receive it."""
    if anonymous.of_workspace(c, session.workspace_id) is None:
        return
    events.append(c, session.workspace_id, "session.lapsed", {"sessionId": session.id, "agentId": session.actor_id})
    anonymous.erase(c, session.workspace_id)


def _acting(actor: Actor, session: AnonymousSession, address: str) -> Actor:
    return replace(actor, via="anonymous", credential_id=session.id, address=address)
