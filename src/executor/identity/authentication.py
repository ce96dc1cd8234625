"""From what a request shows to the actor it acts as. Nothing known of it, or nothing left of it, means no one."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace

from sqlalchemy.engine import Connection

from executor.errors import NotFound, Unauthorized
from executor.identity.new_token import VISITOR, digest
from executor.identity.presented import Shown
from executor.identity.rate_limit import RateLimit
from executor.model.identity import access
from executor.model.identity.actor import Actor, Via
from executor.model.identity.permissions import KEY, OWNER, ROLES, STRANGER, Permission
from executor.model.ids import now_ms
from executor.storage.catalog import toolkits
from executor.storage.database import Database
from executor.storage.identity import anonymous, api_keys, browser_sessions, tenancy
from executor.storage.identity.tenancy import Tenancy

TOUCH_MS = 60_000
TRIES = 60
TRIES_PER_SECOND = 2.0
REMEMBERED = 1024
LOOKUPS = 4
HINT = "send `Authorization: Bearer <token>`; `executor keys create` creates a key, `executor web` opens a browser"
VIA: dict[access.KeyKind, Via] = {"personal": "api_key", "agent": "agent_token", "anonymous": "anonymous"}
# A token of a configured authorization server: the actor it belongs to, or None if it is not one.
Verify = Callable[[str, str], Awaitable[Actor | None]]


class Authenticator:
    """`verify` is set where an outside authorization server is configured.

    Failures are counted by address, and only failures are refused: on a laptop every program has the same address. What
    has not been seen before is looked up a few at a time, so that a flood of it leaves the database to others.
    """

    def __init__(
        self, database: Database, local: Tenancy, *, anonymous: bool = True, anonymous_sources: bool = False
    ) -> None:
        self._database = database
        self._local = local
        self._anonymous = anonymous
        self._of_strangers: frozenset[Permission] = STRANGER | ({"extend"} if anonymous_sources else set())
        self._known: OrderedDict[str, None] = OrderedDict()
        self._lookups = asyncio.Semaphore(LOOKUPS)
        self.attempts = RateLimit(TRIES, TRIES_PER_SECOND)
        self.verify: Verify | None = None

    async def identify(self, shown: Shown) -> Actor:
        return await self._acting(await self._identify(shown), shown)

    async def _acting(self, actor: Actor, shown: Shown) -> Actor:
        """This installation's own account, in person, also operates the machine; no one's role gives that."""
        if actor.address != shown.address:
            actor = replace(actor, address=shown.address)
        actor = await self._place_in_workspace(actor, shown.workspace)
        if actor.kind != "human" or not actor.is_in_person or actor.account_id != self._local.account.id:
            return actor
        held = OWNER if actor.permissions is None else actor.permissions
        return replace(actor, permissions=held | {"operate"})

    async def confirm(self, shown: Shown) -> Actor:
        """Whom a credential that was good before belongs to now. A failure does not count as a guess."""
        actor = self._own(shown) or await self._look_up(shown)
        if actor is None:
            self._known.pop(digest(shown.bearer or shown.session), None)
            raise Unauthorized("this credential was revoked or has expired", hint=HINT)
        return await self._acting(actor, shown)

    def _own(self, shown: Shown) -> Actor | None:
        """For the two tokens of this installation."""
        if shown.kind == "human":
            return replace(self._local.operator, via="operator_token", address=shown.address)
        if shown.kind == "agent":
            return replace(self._local.agent, via="agent_token", address=shown.address)
        return None

    async def _identify(self, shown: Shown) -> Actor:
        if own := self._own(shown):
            return own
        seen = digest(shown.bearer or shown.session)
        is_known = seen in self._known
        try:
            with nullcontext() if is_known else self.attempts.limit_failures(shown.address):
                actor = await self._look_up(shown, nullcontext() if is_known else self._lookups)
                if actor is None:
                    raise Unauthorized("this credential is unknown, has expired or was revoked", hint=HINT)
        except Unauthorized:
            self._known.pop(seen, None)
            raise
        self._remember(seen)
        return actor

    @asynccontextmanager
    async def trying(self, address: str) -> AsyncIterator[None]:
        """Someone shows a link or an invitation. Raises what is wrong with it, or that there were too many."""
        with self.attempts.limit_failures(address):
            async with self._lookups:
                yield

    async def _look_up(self, shown: Shown, turn: AbstractAsyncContextManager[None] = nullcontext()) -> Actor | None:  # noqa: B008 - holds nothing
        async with turn:
            if not shown.bearer:
                return await self._by_session(shown.session) if shown.session else None
            actor = await self._by_key(shown.bearer)
        if actor is None and self.verify is not None:
            actor = await self.verify(shown.bearer, shown.workspace)
        return actor

    def _remember(self, seen: str) -> None:
        self._known[seen] = None
        self._known.move_to_end(seen)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    async def _by_key(self, token: str) -> Actor | None:
        at = now_ms()
        found = await self._database.read(lambda c: api_keys.by_digest(c, digest(token)))
        if found is None or not found.usable(at) or (found.kind == "anonymous" and not self._anonymous):
            return None
        actor = await self._database.read(lambda c: _owner(c, found))
        if actor is not None and at - (found.last_used_at or 0) > TOUCH_MS:
            await self._database.write(lambda c: _touch(c, found, at))
        return actor

    async def _by_session(self, token: str) -> Actor | None:
        return await (self._by_visit(token) if token.startswith(VISITOR) else self._by_sign_in(token))

    async def _by_visit(self, token: str) -> Actor | None:
        """A browser without an account, in the workspace that it opened."""
        at, shown = now_ms(), digest(token)
        found = await self._database.read(lambda c: anonymous.by_cookie(c, shown, at)) if self._anonymous else None
        if found is None:
            return None
        actor = await self._database.read(lambda c: tenancy.actor(c, found.workspace_id, found.human_id))
        if actor is None:
            return None
        if at - found.last_seen_at > TOUCH_MS:
            await self._database.write(lambda c: anonymous.touch(c, found.workspace_id, at))
        return replace(
            actor,
            permissions=self._of_strangers,
            via="anonymous_browser",
            credential_id=found.id,
            expires_at=found.expires_at,
        )

    async def _by_sign_in(self, token: str) -> Actor | None:
        at, shown = now_ms(), digest(token)
        found = await self._database.read(lambda c: browser_sessions.by_digest(c, shown, at))
        if found is None:
            return None
        actor = await self._database.read(
            lambda c: tenancy.human(c, found.workspace_id, found.account_id, create=False)
        )
        if actor is not None and at - found.last_seen_at > TOUCH_MS:
            await self._database.write(lambda c: browser_sessions.touch(c, found.workspace_id, found.id, at))
        if actor is None:
            return None
        return replace(actor, via="browser", credential_id=found.id, expires_at=found.expires_at)

    async def _place_in_workspace(self, actor: Actor, workspace_id: str) -> Actor:
        """In the workspace that was asked for, if it is one of the account's; any other is as if it did not exist."""
        if not workspace_id or workspace_id == actor.workspace_id:
            return actor
        if actor.via not in ("operator_token", "browser"):
            raise NotFound(f"there is no workspace {workspace_id!r}", hint="this credential belongs to one workspace")
        there = await self._database.read(lambda c: tenancy.human(c, workspace_id, actor.account_id, create=False))
        if there is None:
            there = await self._database.write(lambda c: tenancy.human(c, workspace_id, actor.account_id))
        if there is None:
            raise NotFound(f"there is no workspace {workspace_id!r}", hint="see `executor workspaces list`")
        return replace(
            there,
            via=actor.via,
            credential_id=actor.credential_id,
            address=actor.address,
            expires_at=actor.expires_at,
        )


def _touch(c: Connection, key: access.Key, at: int) -> None:
    api_keys.touch(c, key.workspace_id, key.id, at)
    if key.kind == "anonymous":
        anonymous.touch(c, key.workspace_id, at)


def _owner(c: Connection, key: access.Key) -> Actor | None:
    """A key never does more than its owner may; one of someone who left, or of a toolkit that is gone, does nothing."""
    actor = tenancy.actor(c, key.workspace_id, key.actor_id)
    if actor is None or (key.toolkit_id and not toolkits.exists(c, key.workspace_id, key.toolkit_id)):
        return None
    granted = KEY & frozenset(key.scopes)
    if actor.kind == "human":
        role = tenancy.role(c, key.workspace_id, actor.account_id)
        granted &= ROLES[role] if role else frozenset()
        if not granted:
            return None
    actor = replace(actor, permissions=granted, via=VIA[key.kind], credential_id=key.id, expires_at=key.expires_at)
    return replace(actor, toolkit_id=key.toolkit_id) if key.toolkit_id else actor
