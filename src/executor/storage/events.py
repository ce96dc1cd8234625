"""Events: append-only. Appending also hands them to the live feed once the transaction is committed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.event import REVOKING, SUBJECTS, Announcement, Event, Revocation
from executor.model.execution import Execution
from executor.model.ids import now_ms
from executor.model.tenancy import Actor
from executor.storage import chains
from executor.storage.prepared import Prepared
from executor.storage.rows import dump, load
from executor.storage.tables import events

By = Actor | Execution | None
_COLUMNS = ("workspace_id", "execution_id", "type", "at", "data", "actor_id", "origin", "seal")
_insert = Prepared(sa.insert(events), columns=_COLUMNS)


def append(
    c: Connection,
    workspace_id: str,
    type: str,
    data: dict[str, Any],
    execution_id: str = "",
    *,
    by: Actor | Execution | None = None,
) -> None:
    append_all(c, workspace_id, execution_id, [(type, data)], by=by)


def append_all(
    c: Connection,
    workspace_id: str,
    execution_id: str,
    happened: Sequence[tuple[str, dict[str, Any]]],
    *,
    by: Actor | Execution | None = None,
) -> None:
    """Several events of one execution, in order, with one statement. `by` is whoever brought them about."""
    actor_id, origin = author(by)
    owner = {"workspace_id": workspace_id, "execution_id": execution_id, "at": now_ms(), "actor_id": actor_id}
    rows = [{**owner, "origin": origin, "type": type, "data": dump(data)} for type, data in happened]
    chains.extend(c, workspace_id, rows)
    _insert(c, rows)
    chains.settle(c)
    announced: list[Announcement] = c.info.setdefault("new_events", [])
    announced.extend(
        Announcement(workspace_id, execution_id, type) if type not in REVOKING else revocation(workspace_id, type, data)
        for type, data in happened
    )


def revocation(workspace_id: str, type: str, data: dict[str, Any]) -> Revocation:
    return Revocation(workspace_id, "", type, frozenset(data[name] for name in SUBJECTS if name in data))


def author(by: Actor | Execution | None) -> tuple[str, str]:
    """What a run does is done by whoever submitted it; what nobody asked for is Executor's own."""
    if by is None:
        return "", ""
    return (by.actor_id if isinstance(by, Execution) else by.id), by.origin


def after(
    c: Connection,
    workspace_id: str,
    *,
    execution_id: str | None = None,
    types: Sequence[str] = (),
    after: int = 0,
    limit: int = 500,
) -> list[Event]:
    query = sa.select(events).where(events.c.workspace_id == workspace_id, events.c.id > after)
    if execution_id is not None:
        query = query.where(events.c.execution_id == execution_id)
    if types:
        query = query.where(sa.or_(*map(_is_of, types)))
    return [_event(row) for row in c.execute(query.order_by(events.c.id).limit(limit))]


def logs(c: Connection, workspace_id: str, execution_id: str, limit: int = 10_000) -> list[Event]:
    query = sa.select(events).where(
        events.c.workspace_id == workspace_id,
        events.c.execution_id == execution_id,
        events.c.type == "execution.log",
    )
    return [_event(row) for row in c.execute(query.order_by(events.c.id).limit(limit))]


def diagnostics(c: Connection, workspace_id: str, execution_id: str) -> tuple[dict[str, Any], ...]:
    """The warnings of an execution's type check."""
    mine = (events.c.workspace_id == workspace_id, events.c.execution_id == execution_id)
    query = sa.select(events.c.data).where(*mine, events.c.type == "execution.checked").order_by(events.c.id)
    return tuple(one for row in c.execute(query) for one in load(row.data).get("diagnostics", ()))


def count_logs(c: Connection, execution_id: str) -> int:
    mine = (events.c.execution_id == execution_id, events.c.type == "execution.log")
    return int(c.execute(sa.select(sa.func.count()).where(*mine)).scalar_one())


def search(
    c: Connection,
    workspace_id: str,
    *,
    actor_id: str = "",
    type: str = "",
    since: int = 0,
    until: int | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[Event]:
    """Newest first. `type` is a whole type, or ends in `.*`."""
    query = sa.select(events).where(events.c.workspace_id == workspace_id, events.c.at >= since)
    if actor_id:
        query = query.where(events.c.actor_id == actor_id)
    if type:
        query = query.where(_is_of(type))
    if until is not None:
        query = query.where(events.c.at < until)
    if before is not None:
        query = query.where(events.c.id < before)
    return [_event(row) for row in c.execute(query.order_by(events.c.id.desc()).limit(limit))]


def _is_of(type: str) -> sa.ColumnElement[bool]:
    if type.endswith(".*"):
        return events.c.type.startswith(type[:-1], autoescape=True)
    return events.c.type == type


def _event(row: Any) -> Event:
    return Event(
        row.id,
        row.workspace_id,
        row.execution_id,
        row.type,
        row.at,
        load(row.data),
        row.actor_id,
        row.origin,
        row.seal,
    )
