"""Sessions by workspace and by person."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.ids import now_ms
from executor.model.sessions.session import Budget, Process, Session, SessionFilter, SessionStatus
from executor.storage import scan
from executor.storage.rows import RowMapper, Stored, dump, load, read_fields
from executor.storage.scan import Page, fetching, stream_of
from executor.storage.tables.core import actors
from executor.storage.tables.sessions import agent_sessions

LAST = "~"  # above every id
LIVE = ("queued", "running", "waiting")
_budget = Stored(lambda budget: dump(asdict(budget)), lambda text: read_fields(Budget, load(text)))
_process = Stored(
    lambda process: dump(asdict(process)) if process else None,
    lambda text: read_fields(Process, load(text)) if text else None,
)
_rows = RowMapper(Session, budget=_budget, process=_process)
_STORED = {"budget": _budget, "process": _process}
_s = agent_sessions.c
_all = stream_of(agent_sessions, _s.id, _s.workspace_id)
_of_actor = stream_of(agent_sessions, _s.id, _s.workspace_id, _s.actor_id)


def insert(c: Connection, session: Session) -> None:
    c.execute(sa.insert(agent_sessions), _rows.values(session))


def get(c: Connection, workspace_id: str, session_id: str) -> Session | None:
    return _rows.first(c.execute(sa.select(agent_sessions).where(_s.id == session_id, _s.workspace_id == workspace_id)))


def change(c: Connection, session_id: str, **values: Any) -> Session | None:
    """As it is afterwards; None for one that was deleted."""
    written = {name: _STORED[name].write(value) if name in _STORED else value for name, value in values.items()}
    changed = sa.update(agent_sessions).where(_s.id == session_id).values(**written, updated_at=now_ms())
    return _rows.first(c.execute(changed.returning(*agent_sessions.c)))


def change_status(c: Connection, session_id: str, status: SessionStatus) -> Session | None:
    """As its tasks say. A stopped session stays stopped, whatever was still under way: only a resume ends that."""
    return change(c, session_id, status=sa.case((_s.status == "stopped", "stopped"), else_=status))


def delete(c: Connection, session_id: str) -> None:
    c.execute(sa.delete(agent_sessions).where(_s.id == session_id))


def page(c: Connection, workspace_id: str, wanted: SessionFilter, *, limit: int, before: str = "") -> Page[Session]:
    """Newest first."""
    stream = (
        fetching(c, _of_actor, "", workspace_id, wanted.actor_id)
        if wanted.actor_id
        else fetching(c, _all, "", workspace_id)
    )
    rest: list[sa.ColumnElement[bool]] = [_s.archived_at.is_not(None) if wanted.archived else _s.archived_at.is_(None)]
    rest += [_s.status.in_(wanted.statuses)] if wanted.statuses else []
    rest += [_s.agent == wanted.agent] if wanted.agent else []
    found = scan.page([stream], before or LAST, limit, lambda ids: _fitting(c, ids, rest))
    whole = sa.select(agent_sessions).where(_s.id.in_(found)).order_by(_s.id.desc())
    return Page(_rows.every(c.execute(whole)) if found else [], found.next, partial=found.partial)


def _fitting(c: Connection, ids: list[str], rest: list[sa.ColumnElement[bool]]) -> set[str]:
    return {row.id for row in c.execute(sa.select(_s.id).where(_s.id.in_(ids), *rest))}


def list_unfinished(c: Connection) -> list[Session]:
    """Of all workspaces: what an earlier process has left as live, or with an executor process."""
    query = sa.select(agent_sessions).where(sa.or_(_s.status.in_(LIVE), _s.process.is_not(None)))
    return _rows.every(c.execute(query))


def list_idle_clones(c: Connection, before: int) -> list[Session]:
    """Of all workspaces: those on a repository that no one has used since `before`."""
    idle = (_s.status.not_in(LIVE), _s.process.is_(None), _s.updated_at < before)
    query = sa.select(agent_sessions).where(_s.repository != "", _s.removed_at.is_(None), *idle)
    return _rows.every(c.execute(query.order_by(_s.updated_at)))


def count_of_account(c: Connection, account_id: str) -> int:
    """Of one person, in all workspaces: those that are neither archived nor stopped."""
    mine = sa.select(actors.c.id).where(actors.c.account_id == account_id)
    query = sa.select(sa.func.count()).select_from(agent_sessions)
    return int(
        c.execute(query.where(_s.actor_id.in_(mine), _s.archived_at.is_(None), _s.status != "stopped")).scalar_one()
    )
