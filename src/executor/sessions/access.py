"""Who may see a session, and who may use it.

Members see the sessions of their workspace as they see its executions. Only the person who started a session gives it
prompts, since it acts with what that person may do; an administrator may stop it, archive it and delete it.
"""

from __future__ import annotations

from sqlalchemy.engine import Connection

from executor.errors import Forbidden, NotFound
from executor.execution.history import may_see
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import lacking
from executor.model.sessions.session import Isolation, Session
from executor.storage.database import Database
from executor.storage.sessions import sessions


def look_up(c: Connection, by: Actor, session_id: str) -> Session:
    found = sessions.get(c, by.workspace_id, session_id)
    if found is None or not may_see(by, found):
        raise NotFound(f"there is no session {session_id!r}", hint="see `executor sessions list`")
    return found


async def find(database: Database, by: Actor, session_id: str) -> Session:
    return await database.read(lambda c: look_up(c, by, session_id))


def check_starter(by: Actor, isolation: Isolation, *, has_repository: bool, has_cwd: bool) -> None:
    """Outside a sandbox an agent acts as the user of the daemon, so only the operator of this machine may start it.
    With `strict` it acts as a Unix user of its own, and which one was decided before."""
    check_person(by)
    if by.may("operate") or isolation == "strict":
        return
    if isolation != "sandbox":
        raise lacking("operate", f"a session with isolation `{isolation}`")
    if has_cwd or not has_repository:
        raise lacking("operate", "a session in a directory of this machine")


def check_person(by: Actor) -> None:
    if by.kind != "human" or not by.may("prompt"):
        raise Forbidden(
            "only a person can start or prompt a session",
            hint="use `executor sessions` in a terminal, or a signed-in browser",
        )


def check_owner(by: Actor, session: Session) -> None:
    check_person(by)
    if session.actor_id != by.id:
        raise Forbidden(
            f"session {session.id} was started by someone else",
            hint="start one of your own, or fork a session of yours",
        )


def check_manager(by: Actor, session: Session) -> None:
    """Its owner, or an administrator."""
    if session.actor_id != by.id and not by.may("administer"):
        raise Forbidden(
            f"session {session.id} was started by someone else", hint="an administrator can stop or delete it"
        )
