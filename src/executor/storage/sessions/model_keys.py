"""Model keys: which secret serves which provider, for a workspace or for one actor."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.sessions.model_usage import ModelKey, ModelProvider
from executor.storage.rows import RowMapper
from executor.storage.tables.model_usage import model_keys
from executor.storage.upserts import upsert

_rows = RowMapper(ModelKey)


def put(c: Connection, key: ModelKey) -> None:
    upsert(c, model_keys, ("workspace_id", "provider", "actor_id"), _rows.values(key))


def get(c: Connection, workspace_id: str, provider: ModelProvider, actor_id: str) -> ModelKey | None:
    return _rows.first(c.execute(sa.select(model_keys).where(*_one(workspace_id, provider, actor_id))))


def listing(c: Connection, workspace_id: str) -> list[ModelKey]:
    query = sa.select(model_keys).where(model_keys.c.workspace_id == workspace_id)
    return _rows.every(c.execute(query.order_by(model_keys.c.provider, model_keys.c.actor_id)))


def using(c: Connection, workspace_id: str, secret_id: str) -> list[ModelKey]:
    return [key for key in listing(c, workspace_id) if key.secret_id == secret_id]


def delete(c: Connection, workspace_id: str, provider: str, actor_id: str) -> bool:
    return c.execute(sa.delete(model_keys).where(*_one(workspace_id, provider, actor_id))).rowcount == 1


def _one(workspace_id: str, provider: str, actor_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        model_keys.c.workspace_id == workspace_id,
        model_keys.c.provider == provider,
        model_keys.c.actor_id == actor_id,
    )
