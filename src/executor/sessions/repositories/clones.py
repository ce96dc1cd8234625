"""The life of a session's clone: how it is set up, how large it may become, when it is removed, and how it comes back.

A clone that no one has used for long is removed once a commit with all of its work is kept elsewhere. The next prompt,
or `resume`, restores it from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import field

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import Conflict, NotFound
from executor.model.ids import now_ms
from executor.model.sessions.session import Session
from executor.sessions.isolation.limits import DEFAULTS
from executor.sessions.protocol.host_settings import Isolation, SetupScript
from executor.sessions.repositories.checkouts import Checkouts
from executor.sessions.transcripts.transcript import Draft, Transcript
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.sessions import sessions

DAY_MS = 86_400_000
LEAST_ROOM = 1024 * 1024  # for an agent that has none left: it can still remove something
MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class CloneTerms:
    """`scripts` by the location of the repository. `days` without use until a clone is removed; 0 for never."""

    scripts: Mapping[str, str] = field(default_factory=dict)
    setup_seconds: int = 600
    clone_bytes: int = 10 * 1024 * MEGABYTE
    all_bytes: int = 100 * 1024 * MEGABYTE
    days: int = 30


class Clones:
    def __init__(self, database: Database, checkouts: Checkouts, terms: CloneTerms) -> None:
        self._database = database
        self._checkouts = checkouts
        self._terms = terms

    def setup_of(self, session: Session) -> SetupScript | None:
        """None if there is nothing to set up, or it has been done."""
        script = self._terms.scripts.get(session.repository) if session.repository else None
        if script is None or session.set_up_at is not None:
            return None
        return {"script": script, "seconds": self._terms.setup_seconds}

    # -- size ---------------------------------------------------------------------------------------------------------

    async def check_room(self) -> None:
        """Before there is another clone."""
        used = await asyncio.to_thread(self._checkouts.measure_all)
        if used >= self._terms.all_bytes:
            raise Conflict(
                f"the clones of sessions use {_megabytes(used)} of {_megabytes(self._terms.all_bytes)}",
                hint="delete sessions with `executor sessions rm`, or raise the setting session_clones_bytes",
            )

    async def check_size(self, session_id: str, unix_user: str) -> None:
        """Once it is there."""
        used = await self._checkouts.measure(session_id, unix_user)
        if used > self._terms.clone_bytes:
            raise Conflict(
                f"a clone of this repository has {_megabytes(used)}, more than {_megabytes(self._terms.clone_bytes)}",
                hint="use a smaller repository, or raise the setting session_clone_bytes",
            )

    async def isolate(self, session: Session) -> Isolation:
        """A clone may grow up to its limit: what is left of it limits the agent's processes."""
        isolation: Isolation = {"mode": session.isolation}
        if session.unix_user:
            isolation["unix_user"] = session.unix_user
        if session.repository:
            used = await self._checkouts.measure(session.id, session.unix_user)
            left = max(LEAST_ROOM, self._terms.clone_bytes - used)
            isolation["limits"] = {"disk_bytes": min(left, DEFAULTS["disk_bytes"])}
        return isolation

    # -- removal and return -------------------------------------------------------------------------------------------

    async def find_idle(self) -> list[Session]:
        if not self._terms.days:
            return []
        before = now_ms() - self._terms.days * DAY_MS
        return await self._database.read(lambda c: sessions.list_idle_clones(c, before))

    async def remove(self, session: Session, transcript: Transcript) -> bool:
        """After a snapshot. False if the session is in use by now."""
        async with self._checkouts.lock(session.id):
            now = await self._read(session)
            if now.is_live or now.process is not None or now.removed_at is not None:
                return False
            commit, kept = await self._checkouts.retire(now)
            at = now_ms()

            def job(c: Connection) -> Session | None:
                data = {"sessionId": session.id, "snapshot": kept}
                events.append(c, session.workspace_id, "agent_session.clone_removed", data)
                return sessions.change(c, session.id, removed_at=at, snapshot=commit, set_up_at=None)

            text = f"The clone was removed, because no one used it. Its work is kept as {kept}. A prompt restores it."
            transcript.show_session(await transcript.record([Draft(f"clone-{at}", "notice", text=text)], job))
            await self._checkouts.remove(session.id, session.unix_user)  # last: if this fails, nothing is lost
            return True

    async def ensure(self, session: Session, transcript: Transcript) -> Session:
        """Restore a clone that was removed."""
        if not session.repository:
            return session
        async with self._checkouts.lock(session.id):
            now = await self._read(session)
            if now.removed_at is None:
                return now
            await self._checkouts.restore(now)
            at = now_ms()

            def job(c: Connection) -> Session | None:
                events.append(c, session.workspace_id, "agent_session.clone_restored", {"sessionId": session.id})
                return sessions.change(c, session.id, removed_at=None, snapshot="")

            text = f"The clone was restored from the snapshot {now.snapshot[:12]}."
            changed = await transcript.record([Draft(f"clone-{at}", "notice", text=text)], job)
            transcript.show_session(changed)
            return changed or now

    async def _read(self, session: Session) -> Session:
        found = await self._database.read(lambda c: sessions.get(c, session.workspace_id, session.id))
        if found is None:
            raise NotFound(f"there is no session {session.id!r}", hint="see `executor sessions list`")
        return found


def _megabytes(size: int) -> str:
    return f"{size / MEGABYTE:,.0f} MB"
