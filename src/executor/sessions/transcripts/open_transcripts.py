"""The transcripts that are in use, one for each session; and how they are read, searched and exported."""

from __future__ import annotations

from weakref import WeakValueDictionary

from sqlalchemy.engine import Connection

from executor.execution.history import may_see
from executor.model.identity.actor import Actor
from executor.model.sessions.session import Message, Session
from executor.sessions.access import find, look_up
from executor.sessions.locks import Locks
from executor.sessions.transcripts.transcript import Transcript
from executor.storage.catalog import policy_scope
from executor.storage.database import SEARCH_SECONDS, Database
from executor.storage.sessions import messages, sessions

LAST = 2**62


class Transcripts:
    """A writer and all followers of a session share one; it is let go with the last of them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._open: WeakValueDictionary[str, Transcript] = WeakValueDictionary()
        self._opening = Locks()

    async def of(self, session: Session) -> Transcript:
        async with self._opening.of(session.id):
            transcript = self._open.get(session.id)
            if transcript is None:
                transcript = self._open[session.id] = await self._read(session)
            return transcript

    async def _read(self, session: Session) -> Transcript:
        def job(c: Connection) -> tuple[Session | None, int, int]:
            now = sessions.get(c, session.workspace_id, session.id)
            return now, messages.newest(c, session.id), messages.size(c, session.id)

        now, newest, size = await self._database.read(job)
        return Transcript(self._database, now or session, newest, size)

    def show(self, session: Session) -> None:
        """To those who follow it, if anyone does."""
        if (transcript := self._open.get(session.id)) is not None:
            transcript.show_session(session)


async def read_page(
    database: Database, by: Actor, session_id: str, *, after: int = 0, before: int | None = None, limit: int
) -> list[Message]:
    """What changed after a sequence, in that order; or the last ones before a position, in the order they are shown."""

    def job(c: Connection) -> list[Message]:
        look_up(c, by, session_id)
        if before is not None:
            return messages.before(c, session_id, before, limit)
        return messages.after(c, session_id, after, limit)

    return await database.read(job)


async def search(database: Database, by: Actor, text: str, *, session_id: str = "", limit: int = 50) -> list[Message]:
    """Records that contain a text, of one session or of all that the actor may see."""

    def job(c: Connection) -> list[Message]:
        if session_id:
            look_up(c, by, session_id)
        found = messages.search(c, by.workspace_id, text, session_id=session_id, limit=limit)
        known = {one.session_id: sessions.get(c, by.workspace_id, one.session_id) for one in found}
        return [one for one in found if (session := known[one.session_id]) is not None and may_see(by, session)]

    return await database.search(job, SEARCH_SECONDS)


async def read_all(database: Database, by: Actor, session_id: str) -> tuple[Session, list[Message], dict[str, str]]:
    """For an export, in the order in which they are shown; with the names of those who decided something."""
    session = await find(database, by, session_id)
    found = await database.scan(lambda c: messages.before(c, session_id, LAST, LAST))
    deciders = {str(one.data["settledBy"]) for one in found if one.data.get("settledBy")}
    return session, found, await database.read(lambda c: policy_scope.actor_names(c, by.workspace_id, deciders))
