"""Tasks of sessions. A change says which state it expects, so that two of them can't both happen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.sessions.session import UNFINISHED, Task, TaskStatus
from executor.storage.rows import OPTIONAL_JSON, RowMapper
from executor.storage.tables.sessions import session_tasks

_rows = RowMapper(Task, usage=OPTIONAL_JSON, failure=OPTIONAL_JSON)
_STORED = {"usage": OPTIONAL_JSON, "failure": OPTIONAL_JSON}
_t = session_tasks.c


def insert(c: Connection, task: Task) -> None:
    c.execute(sa.insert(session_tasks), _rows.values(task))


def next_number(c: Connection, session_id: str) -> int:
    newest = c.execute(sa.select(sa.func.max(_t.number)).where(_t.session_id == session_id)).scalar()
    return int(newest or 0) + 1


def get(c: Connection, session_id: str, task_id: str) -> Task | None:
    return _rows.first(c.execute(sa.select(session_tasks).where(_t.id == task_id, _t.session_id == session_id)))


def change(c: Connection, task_id: str, *, only: Sequence[TaskStatus] = UNFINISHED, **values: Any) -> Task | None:
    """As it is afterwards; None, and nothing is changed, if it has another status than one of `only`."""
    written = {name: _STORED[name].write(value) if name in _STORED else value for name, value in values.items()}
    changed = sa.update(session_tasks).where(_t.id == task_id, _t.status.in_(only)).values(**written)
    return _rows.first(c.execute(changed.returning(*session_tasks.c)))


def of_session(
    c: Connection, session_id: str, *, statuses: Sequence[TaskStatus] = (), newest: int | None = None
) -> list[Task]:
    """In the order they were given; `newest` is for the last few only."""
    query = sa.select(session_tasks).where(_t.session_id == session_id)
    if statuses:
        query = query.where(_t.status.in_(statuses))
    if newest is None:
        return _rows.every(c.execute(query.order_by(_t.number)))
    return _rows.every(c.execute(query.order_by(_t.number.desc()).limit(newest)))[::-1]


def list_unfinished(c: Connection) -> list[Task]:
    """Of all sessions."""
    return _rows.every(c.execute(sa.select(session_tasks).where(_t.status.in_(UNFINISHED)).order_by(_t.id)))


def usage_of(c: Connection, session_ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """What the tasks of each session used, by session."""
    query = sa.select(_t.session_id, _t.usage).where(_t.session_id.in_(session_ids), _t.usage.is_not(None))
    found: dict[str, list[dict[str, Any]]] = {}
    for row in c.execute(query):
        found.setdefault(row.session_id, []).append(OPTIONAL_JSON.read(row.usage))
    return found
