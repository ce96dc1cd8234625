"""Starting a session: who may, with which agent, where, and within which limits."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from sqlalchemy.engine import Connection

from executor.errors import Conflict, ExecutorError, Forbidden, InvalidRequest, RateLimited
from executor.execution.policies.cache import PolicyCache
from executor.identity.rate_limit import RateLimit
from executor.model.identity.actor import Actor
from executor.model.ids import new_id, now_ms
from executor.model.sessions.session import Isolation, NewSession, PermissionMode, Session
from executor.sessions.access import check_starter
from executor.sessions.directories import check_directory
from executor.sessions.permissions.agent_tools import START, judge_act
from executor.sessions.processes.agent_keys import ensure_agent
from executor.sessions.processes.launch import Folders, Launcher
from executor.sessions.repositories.checkouts import Checkout, Checkouts
from executor.sessions.repositories.clones import Clones
from executor.sessions.unix_users import UnixUsers
from executor.settings import Settings
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.sessions import sessions

MAX_OPEN = 200  # sessions of one person that are neither stopped nor archived
MAX_TITLE = 200


class Creation:
    def __init__(
        self, database: Database, policies: PolicyCache, settings: Settings, launcher: Launcher, checkouts: Checkouts,
        folders: Folders, unix_users: UnixUsers, clones: Clones,
    ) -> None:  # fmt: skip
        self._database = database
        self._policies = policies
        self._settings = settings
        self._launcher = launcher
        self._checkouts = checkouts
        self._folders = folders
        self.unix_users = unix_users
        self._clones = clones
        per_minute = settings.session_prompts_per_minute
        self._rate = RateLimit(per_minute, per_minute / 60)

    def take_turn(self, by: Actor) -> None:
        """Starts and prompts of one person are limited together."""
        try:
            self._rate.take(by.account_id or by.id)
        except RateLimited as refusal:
            raise RateLimited(
                "you have sent too many prompts in a short time", hint=refusal.hint, **refusal.details
            ) from None

    def admit(self, by: Actor, session: Session) -> None:
        """Before each prompt and fork. The mapping of Unix users may have changed since the session was started."""
        self.unix_users.check_owner(by, session.unix_user)
        self.take_turn(by)

    async def create(self, by: Actor, wanted: NewSession) -> Session:
        isolation: Isolation = wanted.isolation or self._settings.session_isolation  # type: ignore[assignment]  # checked there
        unix_user = self.unix_users.choose(by, isolation, wanted.unix_user)
        check_starter(by, isolation, has_repository=bool(wanted.repository), has_cwd=bool(wanted.cwd))
        check_mode(wanted.permission_mode, isolation, self._settings.session_bypass)
        self._launcher.check_agent(wanted.agent)
        self.take_turn(by)
        await self.check_policies(by, START, replace(wanted, isolation=isolation, unix_user=unix_user))
        await self.unix_users.verify(unix_user)
        self._launcher.prepared.fill()
        session_id = new_id("ses")
        wanted = replace(wanted, isolation=isolation, unix_user=unix_user)
        checkout = await self._check_out(by, wanted, session_id)
        try:
            return await self._database.write(lambda c: self._insert(c, by, wanted, session_id, checkout))
        except ExecutorError:
            if checkout.repository:
                await self._checkouts.remove(session_id, unix_user)
            raise

    def _insert(self, c: Connection, by: Actor, wanted: NewSession, session_id: str, checkout: Checkout) -> Session:
        check_number(c, by)
        at = now_ms()
        session = Session(
            id=session_id,
            workspace_id=by.workspace_id,
            actor_id=by.id,
            agent_id=ensure_agent(c, by, wanted.agent).id,
            agent=wanted.agent,
            status="idle",
            isolation=wanted.isolation or "sandbox",
            permission_mode=wanted.permission_mode,
            cwd=checkout.folder,
            title=wanted.title[:MAX_TITLE],
            model=wanted.model,
            unattended=wanted.unattended or self._settings.session_unattended,  # type: ignore[arg-type]  # checked there
            budget=wanted.budget,
            repository=checkout.repository,
            branch=checkout.branch,
            base=checkout.base,
            unix_user=wanted.unix_user,
            created_at=at,
            updated_at=at,
        )
        sessions.insert(c, session)
        events.append(c, by.workspace_id, "agent_session.started", started_data(session), by=by)
        return session

    async def check_policies(self, by: Actor, act: str, session: NewSession | Session) -> None:
        """Whether someone may do this: start such a session, or open a terminal in it."""
        in_force = await self._policies.of(by.workspace_id)
        asked = {
            "agent": session.agent, "isolation": session.isolation, "permissionMode": session.permission_mode,
            "repository": session.repository, "cwd": session.cwd, "model": session.model,
            "unixUser": session.unix_user,
        }  # fmt: skip
        if judge_act(act, by.id, asked, in_force.policies) == "deny":
            raise Forbidden(
                f"a policy denies {act} for {session.agent}, {session.isolation}, {session.permission_mode}",
                hint="see `executor policies list`",
            )

    async def _check_out(self, by: Actor, wanted: NewSession, session_id: str) -> Checkout:
        if wanted.repository and wanted.cwd:
            raise InvalidRequest("a session has either `cwd` or `repository`", hint="leave one of them out")
        if wanted.repository:
            return await self._clone(by, wanted, session_id)
        if not wanted.cwd:
            raise InvalidRequest("a directory for the agent is missing", hint="pass `cwd` or `repository`")
        return Checkout(await asyncio.to_thread(check_directory, wanted.cwd, self._folders))

    async def _clone(self, by: Actor, wanted: NewSession, session_id: str) -> Checkout:
        await self._clones.check_room()
        checkout = await self._checkouts.create(by, wanted.repository, session_id, wanted.unix_user)
        try:
            await self._clones.check_size(session_id, wanted.unix_user)
        except ExecutorError:
            await self._checkouts.remove(session_id, wanted.unix_user)
            raise
        return checkout


def check_number(c: Connection, by: Actor) -> None:
    """Before there is another session of this person."""
    if sessions.count_of_account(c, by.account_id) >= MAX_OPEN:
        raise Conflict(f"you have {MAX_OPEN} open sessions", hint="stop some with `executor sessions stop`")


def check_mode(mode: PermissionMode, isolation: Isolation, allowed: str) -> None:
    """`allowed` is the setting session_bypass."""
    if mode != "bypassPermissions" or allowed == "always" or (allowed == "sandbox" and isolation == "sandbox"):
        return
    if allowed == "never":
        raise Forbidden(
            "the mode bypassPermissions is forbidden by the setting session_bypass", hint="use another mode"
        )
    raise Forbidden(
        "the mode bypassPermissions is only allowed in a sandbox", hint="use the isolation sandbox, or another mode"
    )


def started_data(session: Session) -> dict[str, Any]:
    return {
        "sessionId": session.id,
        "agent": session.agent,
        "isolation": session.isolation,
        "permissionMode": session.permission_mode,
        "cwd": session.cwd,
        "repository": session.repository,
        **({"unixUser": session.unix_user} if session.unix_user else {}),
    }
