"""Sessions as people look at them. Without the permission `read`, a person sees only their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.model.identity.actor import Actor
from executor.model.sessions.model_usage import Spending
from executor.model.sessions.session import Session, SessionFilter, Task
from executor.sessions.access import look_up
from executor.storage.catalog import policy_scope
from executor.storage.database import Database
from executor.storage.scan import Page
from executor.storage.sessions import model_usage, sessions, tasks
from executor.storage.sessions.model_usage import Total

TASKS = 50


@dataclass(frozen=True, slots=True)
class Summary:
    """A session with the name of the person it belongs to, the tokens it used, and what it cost (in nanodollars)."""

    session: Session
    actor: str
    usage: list[dict[str, Any]]
    cost: int = 0


async def search(
    database: Database, by: Actor, wanted: SessionFilter, *, limit: int, before: str = ""
) -> Page[Summary]:
    """Newest first."""
    narrowed = wanted if by.may("read") else replace(wanted, actor_id=by.id)

    def job(c: Connection) -> Page[Summary]:
        found = sessions.page(c, by.workspace_id, narrowed, limit=limit, before=before)
        return Page(_summarise(c, by, found), found.next, partial=found.partial)

    return await database.read(job)


async def show(database: Database, by: Actor, session_id: str) -> tuple[Summary, list[Task]]:
    """With its last tasks."""

    def job(c: Connection) -> tuple[Summary, list[Task]]:
        session = look_up(c, by, session_id)
        return _summarise(c, by, [session])[0], tasks.of_session(c, session_id, newest=TASKS)

    return await database.read(job)


def _summarise(c: Connection, by: Actor, found: list[Session]) -> list[Summary]:
    names = policy_scope.actor_names(c, by.workspace_id, {one.actor_id for one in found})
    reported = tasks.usage_of(c, [one.id for one in found])
    spent = {one.id: spending_of(c, one) for one in found}
    return [
        Summary(
            one, names.get(one.actor_id, ""), count_tokens(spent[one.id], reported.get(one.id, [])), spent[one.id].cost
        )
        for one in found
    ]


def count_tokens(spent: Spending, reported: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As the model proxy has counted it: agents report less than they use. What they report counts where they use no
    model of ours."""
    if not spent.requests:
        return reported
    usage = spent.usage
    return [
        {
            "input": usage.input,
            "output": usage.output + usage.thoughts,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write + usage.cache_write_1h,
        }
    ]


def spending_of(c: Connection, session: Session) -> Spending:
    return model_usage.spending(c, Total(session.workspace_id, "session", session.id))
