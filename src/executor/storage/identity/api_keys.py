"""Keys of callers. Only their digests are here; a key itself is shown once, when it is created."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.identity.access import Key, KeyKind
from executor.storage.rows import WORDS, RowMapper
from executor.storage.tables.access import api_keys

_rows = RowMapper(Key, scopes=WORDS)


def insert(c: Connection, key: Key, digest: str) -> None:
    c.execute(sa.insert(api_keys), {**_rows.values(key), "digest": digest})


def by_digest(c: Connection, digest: str) -> Key | None:
    return _rows.first(c.execute(sa.select(api_keys).where(api_keys.c.digest == digest)))


def get(c: Connection, workspace_id: str, key_id: str) -> Key | None:
    mine = (api_keys.c.workspace_id == workspace_id, api_keys.c.id == key_id)
    return _rows.first(c.execute(sa.select(api_keys).where(*mine)))


def listing(c: Connection, workspace_id: str, kind: KeyKind, actor_id: str | None = None) -> list[Key]:
    """Of one actor, or of all."""
    query = sa.select(api_keys).where(api_keys.c.workspace_id == workspace_id, api_keys.c.kind == kind)
    if actor_id is not None:
        query = query.where(api_keys.c.actor_id == actor_id)
    return _rows.every(c.execute(query.order_by(api_keys.c.id)))


def revoke(c: Connection, workspace_id: str, key_id: str, at: int) -> bool:
    mine = (api_keys.c.workspace_id == workspace_id, api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
    return c.execute(sa.update(api_keys).where(*mine).values(revoked_at=at)).rowcount == 1


def expire(c: Connection, workspace_id: str, key_id: str, at: int) -> bool:
    """It is no longer needed. False for one that is revoked or has expired already."""
    mine = (api_keys.c.workspace_id == workspace_id, api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
    live = sa.or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > at)
    return c.execute(sa.update(api_keys).where(*mine, live).values(expires_at=at)).rowcount == 1


def revoke_of_actor(c: Connection, workspace_id: str, actor_id: str, at: int) -> int:
    """How many there were."""
    mine = (api_keys.c.workspace_id == workspace_id, api_keys.c.actor_id == actor_id, api_keys.c.revoked_at.is_(None))
    return c.execute(sa.update(api_keys).where(*mine).values(revoked_at=at)).rowcount


def count_usable(c: Connection, workspace_id: str, actor_id: str, now: int) -> int:
    unexpired = sa.or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > now)
    mine = (api_keys.c.workspace_id == workspace_id, api_keys.c.actor_id == actor_id, api_keys.c.revoked_at.is_(None))
    return int(c.execute(sa.select(sa.func.count()).select_from(api_keys).where(*mine, unexpired)).scalar_one())


def of_toolkit(c: Connection, workspace_id: str, toolkit_id: str) -> list[Key]:
    """Also those that were revoked."""
    mine = (api_keys.c.workspace_id == workspace_id, api_keys.c.toolkit_id == toolkit_id)
    return _rows.every(c.execute(sa.select(api_keys).where(*mine).order_by(api_keys.c.id)))


def remove_of_actor(c: Connection, workspace_id: str, actor_id: str) -> None:
    c.execute(sa.delete(api_keys).where(api_keys.c.workspace_id == workspace_id, api_keys.c.actor_id == actor_id))


def touch(c: Connection, workspace_id: str, key_id: str, at: int) -> None:
    mine = (api_keys.c.workspace_id == workspace_id, api_keys.c.id == key_id)
    c.execute(sa.update(api_keys).where(*mine).values(last_used_at=at))
