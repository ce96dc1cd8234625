"""What people do with the changes of a session: look at them, commit them, discard them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from executor.errors import Conflict
from executor.model.identity.actor import Actor
from executor.model.sessions.session import Session
from executor.sessions.access import check_owner, find
from executor.sessions.repositories.changes import Changes, read_changes
from executor.sessions.repositories.checkouts import Checkouts
from executor.storage.database import Database
from executor.storage.executions import events


class Work:
    """`end_process` ends the executor process of a session, or returns False if a task needs it."""

    def __init__(
        self, database: Database, checkouts: Checkouts, end_process: Callable[[Session], Awaitable[bool]]
    ) -> None:
        self._database = database
        self._checkouts = checkouts
        self._end_process = end_process

    async def read_changes(self, by: Actor, session_id: str) -> tuple[Session, Changes]:
        session = await self._find(by, session_id)
        async with self._checkouts.lock(session_id):
            return session, await read_changes(self._checkouts, session)

    async def commit(self, by: Actor, session_id: str, message: str) -> tuple[str, str]:
        """The commit and its branch."""
        session = await self._find(by, session_id)
        check_owner(by, session)
        async with self._checkouts.lock(session_id):
            commit, branch = await self._checkouts.publish(session, message, by.name)
        data = {"sessionId": session_id, "commit": commit, "branch": branch}
        await self._database.write(lambda c: events.append(c, by.workspace_id, "agent_session.committed", data, by=by))
        return commit, branch

    async def discard(self, by: Actor, session_id: str) -> str:
        """Where the work is kept; empty if there was none."""
        session = await self._find(by, session_id)
        check_owner(by, session)
        # Its process works in the directory that is replaced. A task may have begun since the session was read.
        if session.is_live or not await self._end_process(session):
            status = session.status if session.is_live else "running"
            raise Conflict(f"session {session_id} is {status}", hint="wait until its task has ended, or stop it")
        async with self._checkouts.lock(session_id):
            kept = await self._checkouts.discard(session)
        data = {"sessionId": session_id, "snapshot": kept}
        await self._database.write(lambda c: events.append(c, by.workspace_id, "agent_session.discarded", data, by=by))
        return kept

    async def _find(self, by: Actor, session_id: str) -> Session:
        session = await find(self._database, by, session_id)
        if not session.repository:
            raise Conflict(f"session {session_id} has no repository", hint="start one with `repository`")
        if session.removed_at is not None:
            raise Conflict(
                f"the clone of session {session_id} was removed, because no one used it",
                hint=f"restore it with `executor sessions resume {session_id}`",
            )
        return session
