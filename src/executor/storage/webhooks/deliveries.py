"""Deliveries: the outbox of each webhook, and its log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.webhook import Delivery, DeliveryStatus
from executor.storage.rows import RowMapper
from executor.storage.tables.webhooks import webhook_deliveries

_rows = RowMapper(Delivery)
_d = webhook_deliveries.c


def insert(c: Connection, deliveries: Sequence[Delivery]) -> None:
    c.execute(sa.insert(webhook_deliveries), [_rows.values(one) for one in deliveries])


def get(c: Connection, webhook_id: str, delivery_id: str) -> Delivery | None:
    query = sa.select(webhook_deliveries).where(_d.webhook_id == webhook_id, _d.id == delivery_id)
    return _rows.first(c.execute(query))


def page(
    c: Connection, webhook_id: str, *, status: DeliveryStatus | None = None, before: str = "", limit: int = 50
) -> list[Delivery]:
    """Newest first."""
    query = sa.select(webhook_deliveries).where(_d.webhook_id == webhook_id)
    query = query.where(_d.status == status) if status else query
    query = query.where(_d.id < before) if before else query
    return _rows.every(c.execute(query.order_by(_d.id.desc()).limit(limit)))


def list_next(c: Connection, webhook_id: str, limit: int) -> list[Delivery]:
    """Those that are due first."""
    query = sa.select(webhook_deliveries).where(_d.webhook_id == webhook_id, _d.status == "pending")
    return _rows.every(c.execute(query.order_by(_d.next_at, _d.id).limit(limit)))


def count_pending(c: Connection, webhook_id: str, most: int) -> int:
    """At most `most`."""
    found = sa.select(_d.id).where(_d.webhook_id == webhook_id, _d.status == "pending").limit(most).subquery()
    return int(c.execute(sa.select(sa.func.count()).select_from(found)).scalar_one())


def change(c: Connection, delivery_id: str, **values: Any) -> Delivery | None:
    changed = sa.update(webhook_deliveries).where(_d.id == delivery_id).values(**values)
    return _rows.first(c.execute(changed.returning(*webhook_deliveries.c)))


def fail_pending(c: Connection, webhook_id: str, error: str) -> None:
    pending = sa.update(webhook_deliveries).where(_d.webhook_id == webhook_id, _d.status == "pending")
    c.execute(pending.values(status="failed", error=error))


def sweep(c: Connection, webhook_id: str, *, before: int, kept: int, limit: int) -> int:
    """Remove at most `limit` that are not pending: those from before a time, and all but the newest `kept`."""
    mine = (_d.webhook_id == webhook_id, _d.status != "pending")
    newest = sa.select(_d.id).where(*mine).order_by(_d.id.desc()).offset(kept).limit(1).scalar_subquery()
    old = sa.select(_d.id).where(*mine, sa.or_(_d.created_at < before, _d.id <= newest)).limit(limit)
    return c.execute(sa.delete(webhook_deliveries).where(_d.id.in_(old))).rowcount
