"""Events: append-only. Appending also hands them to the live feed once the transaction is committed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.event import Announcement, Event
from executor.model.ids import now_ms
from executor.storage.prepared import Prepared
from executor.storage.rows import dump, load
from executor.storage.tables import events

_insert = Prepared(sa.insert(events), columns=["workspace_id", "execution_id", "type", "at", "data"])


def append(c: Connection, workspace_id: str, type: str, data: dict[str, Any], execution_id: str = "") -> None:
    append_all(c, workspace_id, execution_id, [(type, data)])


def append_all(
    c: Connection, workspace_id: str, execution_id: str, happened: Sequence[tuple[str, dict[str, Any]]]
) -> None:
    """Several events of one execution, in order, with one statement."""
    at = now_ms()
    owner = {"workspace_id": workspace_id, "execution_id": execution_id, "at": at}
    _insert(c, [{**owner, "type": type, "data": dump(data)} for type, data in happened])
    announced: list[Announcement] = c.info.setdefault("new_events", [])
    announced.extend(Announcement(workspace_id, execution_id, type) for type, _ in happened)


def after(
    c: Connection, workspace_id: str, *, execution_id: str | None = None, after: int = 0, limit: int = 500
) -> list[Event]:
    query = sa.select(events).where(events.c.workspace_id == workspace_id, events.c.id > after)
    if execution_id is not None:
        query = query.where(events.c.execution_id == execution_id)
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


def _event(row: Any) -> Event:
    return Event(row.id, row.workspace_id, row.execution_id, row.type, row.at, load(row.data))
