"""Keys of callers. Only their digests are here; a key itself is shown once, when it is made."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.identity.access import Key, KeyKind
from executor.storage.rows import dump, load
from executor.storage.tables.access import api_keys


def insert(c: Connection, key: Key, digest: str) -> None:
    c.execute(
        sa.insert(api_keys),
        {
            "id": key.id,
            "workspace_id": key.workspace_id,
            "actor_id": key.actor_id,
            "kind": key.kind,
            "name": key.name,
            "prefix": key.prefix,
            "digest": digest,
            "scopes": dump(list(key.scopes)),
            "created_by": key.created_by,
            "created_at": key.created_at,
            "expires_at": key.expires_at,
        },
    )


def by_digest(c: Connection, digest: str) -> Key | None:
    row = c.execute(sa.select(api_keys).where(api_keys.c.digest == digest)).first()
    return _key(row) if row else None


def get(c: Connection, workspace_id: str, key_id: str) -> Key | None:
    mine = (api_keys.c.workspace_id == workspace_id, api_keys.c.id == key_id)
    row = c.execute(sa.select(api_keys).where(*mine)).first()
    return _key(row) if row else None


def listing(c: Connection, workspace_id: str, kind: KeyKind, actor_id: str | None = None) -> list[Key]:
    """Of one actor, or of all."""
    query = sa.select(api_keys).where(api_keys.c.workspace_id == workspace_id, api_keys.c.kind == kind)
    if actor_id is not None:
        query = query.where(api_keys.c.actor_id == actor_id)
    return [_key(row) for row in c.execute(query.order_by(api_keys.c.id))]


def revoke(c: Connection, workspace_id: str, key_id: str, at: int) -> bool:
    mine = (api_keys.c.workspace_id == workspace_id, api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
    return c.execute(sa.update(api_keys).where(*mine).values(revoked_at=at)).rowcount == 1


def revoke_of_actor(c: Connection, workspace_id: str, actor_id: str, at: int) -> int:
    """How many there were."""
    mine = (api_keys.c.workspace_id == workspace_id, api_keys.c.actor_id == actor_id, api_keys.c.revoked_at.is_(None))
    return c.execute(sa.update(api_keys).where(*mine).values(revoked_at=at)).rowcount


def count_usable(c: Connection, workspace_id: str, actor_id: str, now: int) -> int:
    unexpired = sa.or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > now)
    mine = (api_keys.c.workspace_id == workspace_id, api_keys.c.actor_id == actor_id, api_keys.c.revoked_at.is_(None))
    return int(c.execute(sa.select(sa.func.count()).select_from(api_keys).where(*mine, unexpired)).scalar_one())


def remove_of_actor(c: Connection, workspace_id: str, actor_id: str) -> None:
    c.execute(sa.delete(api_keys).where(api_keys.c.workspace_id == workspace_id, api_keys.c.actor_id == actor_id))


def touch(c: Connection, workspace_id: str, key_id: str, at: int) -> None:
    mine = (api_keys.c.workspace_id == workspace_id, api_keys.c.id == key_id)
    c.execute(sa.update(api_keys).where(*mine).values(last_used_at=at))


def _key(row: Any) -> Key:
    return Key(
        row.id,
        row.workspace_id,
        row.actor_id,
        row.kind,
        row.name,
        row.prefix,
        tuple(load(row.scopes)),
        row.created_by,
        row.created_at,
        row.expires_at,
        row.last_used_at,
        row.revoked_at,
    )
