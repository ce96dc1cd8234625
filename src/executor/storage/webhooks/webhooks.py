"""Webhooks: where messages go."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.webhook import Webhook
from executor.storage.rows import FLAG, WORDS, RowMapper
from executor.storage.tables.webhooks import webhooks
from executor.storage.upserts import lock_row

_rows = RowMapper(Webhook, events=WORDS, enabled=FLAG)
_w = webhooks.c


def insert(c: Connection, webhook: Webhook) -> None:
    c.execute(sa.insert(webhooks), _rows.values(webhook))


def lock(c: Connection, webhook_id: str) -> Webhook | None:
    """As it is once no other process can change it."""
    lock_row(c, webhooks, webhook_id)
    return by_id(c, webhook_id)


def by_id(c: Connection, webhook_id: str) -> Webhook | None:
    return _rows.first(c.execute(sa.select(webhooks).where(_w.id == webhook_id)))


def listing(c: Connection, workspace_id: str) -> list[Webhook]:
    return _rows.every(c.execute(sa.select(webhooks).where(_w.workspace_id == workspace_id).order_by(_w.id)))


def everywhere(c: Connection) -> list[Webhook]:
    """Of all workspaces: for the daemon's own work, never for an answer to someone."""
    return _rows.every(c.execute(sa.select(webhooks).order_by(_w.id)))


def change(c: Connection, webhook: Webhook) -> None:
    c.execute(sa.update(webhooks).where(_w.id == webhook.id).values(_rows.values(webhook)))


def update(c: Connection, webhook_id: str, **values: Any) -> None:
    """What Executor notes on its own, which is not an edit."""
    c.execute(sa.update(webhooks).where(_w.id == webhook_id).values(**values))


def reseal(c: Connection, webhook_id: str, key_id: str, sealed: bytes, *, before: bytes) -> bool:
    """The same secrets under another key. False, and nothing changed, if they are no longer those of `before`."""
    same = (_w.id == webhook_id, _w.sealed == before)
    return c.execute(sa.update(webhooks).where(*same).values(key_id=key_id, sealed=sealed)).rowcount == 1


def delete(c: Connection, webhook_id: str) -> None:
    c.execute(sa.delete(webhooks).where(_w.id == webhook_id))
