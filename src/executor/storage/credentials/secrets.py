"""Secrets: rows that say where a value is kept, and for the store the value itself, sealed."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.credentials import Secret
from executor.storage.rows import WORDS, RowMapper, dump
from executor.storage.tables.access import secrets
from executor.storage.upserts import upsert

_rows = RowMapper(Secret, origins=WORDS)


def insert(c: Connection, secret: Secret, key_id: str = "", sealed: bytes | None = None) -> None:
    c.execute(sa.insert(secrets), {**_rows.values(secret), "key_id": key_id, "sealed": sealed})


def put(c: Connection, secret: Secret, key_id: str, sealed: bytes) -> None:
    """In the place of the one of that name, if there is one."""
    upsert(c, secrets, ("workspace_id", "name"), {**_rows.values(secret), "key_id": key_id, "sealed": sealed})


def replace_value(c: Connection, secret_id: str, at: int, key_id: str, sealed: bytes | None, reference: str) -> None:
    values = {"rotated_at": at, "key_id": key_id, "sealed": sealed, "reference": reference}
    c.execute(sa.update(secrets).where(secrets.c.id == secret_id).values(**values))


def get(c: Connection, workspace_id: str, id_or_name: str) -> Secret | None:
    row = _row(c, workspace_id, id_or_name)
    return _rows.noun(row) if row else None


def read_sealed(c: Connection, workspace_id: str, secret_id: str) -> tuple[str, bytes] | None:
    """The key it was sealed with, and the sealed value."""
    row = _row(c, workspace_id, secret_id)
    return None if row is None or row.sealed is None else (row.key_id, row.sealed)


def every_sealed(c: Connection) -> list[tuple[str, str, str, bytes]]:
    """Id, workspace, key and sealed value of all of them, in every workspace: for sealing them again."""
    columns = (secrets.c.id, secrets.c.workspace_id, secrets.c.key_id, secrets.c.sealed)
    return [tuple(row) for row in c.execute(sa.select(*columns).where(secrets.c.sealed.is_not(None)))]


def listing(c: Connection, workspace_id: str) -> list[Secret]:
    query = sa.select(secrets).where(secrets.c.workspace_id == workspace_id).order_by(secrets.c.name)
    return _rows.every(c.execute(query))


def delete(c: Connection, workspace_id: str, secret_id: str) -> bool:
    mine = (secrets.c.workspace_id == workspace_id, secrets.c.id == secret_id)
    return c.execute(sa.delete(secrets).where(*mine)).rowcount == 1


def delete_named(c: Connection, workspace_id: str, name: str) -> None:
    c.execute(sa.delete(secrets).where(secrets.c.workspace_id == workspace_id, secrets.c.name == name))


def delete_under(c: Connection, workspace_id: str, prefix: str) -> None:
    """What belongs to a connection or a source that goes."""
    mine = (secrets.c.workspace_id == workspace_id, secrets.c.name.startswith(prefix, autoescape=True))
    c.execute(sa.delete(secrets).where(*mine))


def reseal(c: Connection, secret_id: str, key_id: str, sealed: bytes, *, before: bytes) -> bool:
    """The same value under another key. False, and nothing changed, if it is no longer the value `before`."""
    same = (secrets.c.id == secret_id, secrets.c.sealed == before)
    return c.execute(sa.update(secrets).where(*same).values(key_id=key_id, sealed=sealed)).rowcount == 1


def allow_origin(c: Connection, secret: Secret, origin: str) -> None:
    mine = (secrets.c.workspace_id == secret.workspace_id, secrets.c.id == secret.id)
    c.execute(sa.update(secrets).where(*mine).values(origins=dump([*secret.origins, origin])))


def touch(c: Connection, secret_id: str, at: int) -> None:
    c.execute(sa.update(secrets).where(secrets.c.id == secret_id).values(last_used_at=at))


def _row(c: Connection, workspace_id: str, id_or_name: str) -> Any:
    if not id_or_name.isascii():  # ids and names are; other text may not even be storable
        return None
    named = sa.or_(secrets.c.id == id_or_name, secrets.c.name == id_or_name)
    return c.execute(sa.select(secrets).where(secrets.c.workspace_id == workspace_id, named)).first()
