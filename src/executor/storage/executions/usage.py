"""What workspaces and actors use: counted from the executions themselves, never beyond a limit.

An execution that has an owner counts as running: one that is paused while a call of it is under way does, one that is
parked does not. The owner is gone once it has ended, is parked, or is taken from a process that was lost.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.storage.executions.executions import COUNTED
from executor.storage.tables.core import OWNED, QUEUED, executions

# Parts of statements on PostgreSQL, for `format` with the row that names whose, and where the limit is. Compared as the
# index is ordered: with `=`, PostgreSQL prefers to walk the whole table where most rows are of one actor.
OWNED_OF_WORKSPACE = """SELECT count(*) FROM (
    SELECT 1 FROM executions WHERE owner != '' AND workspace_id >= {0}.workspace_id AND workspace_id <= {0}.workspace_id
    ORDER BY workspace_id, actor_id LIMIT {0}.{1}
) AS owned"""
OWNED_OF_ACTOR = """SELECT count(*) FROM (
    SELECT 1 FROM executions WHERE owner != ''
    AND (workspace_id, actor_id) >= ({0}.workspace_id, {0}.actor_id)
    AND (workspace_id, actor_id) <= ({0}.workspace_id, {0}.actor_id)
    ORDER BY workspace_id, actor_id LIMIT {0}.{1}
) AS owned"""
_e = executions.c
_lock = sa.text(
    "SELECT pg_advisory_xact_lock(hashtext('executor limits'), hashtext(id)) FROM unnest(CAST(:ids AS text[])) AS id"
)


def lock_workspaces(c: Connection, workspace_ids: Collection[str]) -> None:
    """Until the commit, no one else raises a count of theirs. What was counted before may be wrong by now. SQLite has
    one writer, which needs no lock."""
    if c.dialect.name == "postgresql":
        c.execute(_lock, {"ids": sorted(workspace_ids)})


def count_owned(c: Connection, workspace_id: str, actor_id: str, most: int) -> int:
    """Without an actor, of the whole workspace."""
    return _count(c, OWNED, workspace_id, actor_id, most)


def count_queued(c: Connection, workspace_id: str, actor_id: str, most: int) -> int:
    if c.dialect.name == "sqlite":
        return _count_status(c, "queued", workspace_id, actor_id, most)
    return _count(c, QUEUED, workspace_id, actor_id, most)


def has_queued_before(c: Connection, workspace_id: str, actor_id: str, rank: int) -> bool:
    """Whether an execution of this actor waits that a new one of this rank must not overtake."""
    mine = sa.select(_e.id).where(QUEUED, *_of(workspace_id, actor_id), _e.priority <= rank)
    return c.execute(mine.limit(1)).first() is not None


def find_submission(c: Connection, workspace_id: str, actor_id: str, place: int) -> int | None:
    """When the execution was submitted that is the newest but so many."""
    order = (_e.workspace_id, _e.actor_id, _e.id) if actor_id else (_e.workspace_id, _e.id)
    query = sa.select(_e.created_at).where(*_of(workspace_id, actor_id)).order_by(*(one.desc() for one in order))
    found: int | None = c.execute(query.offset(place).limit(1)).scalar()
    return found


def count_all(c: Connection, workspace_id: str, actor_id: str) -> tuple[int, int]:
    """How many run and are queued now, for people; no further than `COUNTED`. On SQLite nothing has an owner."""
    if c.dialect.name == "postgresql":
        queued = count_queued(c, workspace_id, actor_id, COUNTED)
        return count_owned(c, workspace_id, actor_id, COUNTED), queued
    return _count_status(c, "running", workspace_id, actor_id), _count_status(c, "queued", workspace_id, actor_id)


def _count_status(c: Connection, status: str, workspace_id: str, actor_id: str, most: int = COUNTED) -> int:
    """As SQLite's index is ordered."""
    mine = [_e.workspace_id == workspace_id, _e.status == status, *([_e.actor_id == actor_id] if actor_id else [])]
    some = sa.select(sa.literal(1)).select_from(executions).where(*mine).limit(most).subquery()
    return int(c.execute(sa.select(sa.func.count()).select_from(some)).scalar_one())


def _of(workspace_id: str, actor_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    if not actor_id:
        return (_e.workspace_id >= workspace_id, _e.workspace_id <= workspace_id)
    columns, values = sa.tuple_(_e.workspace_id, _e.actor_id), sa.tuple_(workspace_id, actor_id)
    return (columns >= values, columns <= values)


def _count(c: Connection, which: sa.TextClause, workspace_id: str, actor_id: str, most: int) -> int:
    order = [executions.c.workspace_id, executions.c.actor_id][: 2 if actor_id else 1]
    some = sa.select(sa.literal(1)).select_from(executions).where(which, *_of(workspace_id, actor_id))
    query = sa.select(sa.func.count()).select_from(some.order_by(*order).limit(most).subquery())
    return int(c.execute(query).scalar_one())
