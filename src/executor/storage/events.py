"""Events: append-only. Appending also hands them to the live feed once the transaction is committed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.event import Event
from executor.model.ids import now_ms
from executor.storage.rows import dump, load
from executor.storage.tables import events

_insert = sa.insert(events)


def append(c: Connection, workspace_id: str, type: str, data: dict[str, Any], execution_id: str = "") -> Event:
    at = now_ms()
    values = {"workspace_id": workspace_id, "execution_id": execution_id, "type": type, "at": at, "data": dump(data)}
    key = c.execute(_insert, values).inserted_primary_key
    event = Event(key[0] if key else 0, workspace_id, execution_id, type, at, data)
    c.info.setdefault("new_events", []).append(event)
    return event


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


def _event(row: Any) -> Event:
    return Event(row.id, row.workspace_id, row.execution_id, row.type, row.at, load(row.data))


def types_of(found: Sequence[Event]) -> list[str]:
    return [event.type for event in found]
