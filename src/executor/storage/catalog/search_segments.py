"""Search indexes of sources that one process has built for all that share a PostgreSQL database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.storage.catalog.search_entries import Listed
from executor.storage.tables.cluster import search_segments
from executor.storage.tables.core import listings
from executor.storage.upserts import insert_of

PART = 1_000_000  # bytes
CLAIM = -1
CLAIM_SECONDS = 15
KEPT = timedelta(days=2)  # of versions that may still run beside this one
_s = search_segments.c
_now = sa.func.clock_timestamp()


def _of(one: Listed, version: str) -> sa.ColumnElement[bool]:
    return sa.and_(_s.source_id == one.source_id, _s.generation == one.generation, _s.version == version)


def load(c: Connection, one: Listed, version: str) -> bytes | None:
    """None if no one has built it. All parts are written at once."""
    rows = c.execute(sa.select(_s.data).where(_of(one, version), _s.part != CLAIM).order_by(_s.part))
    return b"".join(row.data for row in rows) or None


def claim(c: Connection, one: Listed, version: str) -> bool:
    """False if another process builds it, whose claim was renewed a moment ago, or has built it."""
    row = _row(c, one, version)
    if row is None:
        return True  # it is gone, so there is nothing to build
    claimed = insert_of(c, search_segments).values(**row, part=CLAIM, data=b"", written_at=_now)
    claimed = claimed.on_conflict_do_update(
        index_elements=search_segments.primary_key,
        set_={"written_at": _now},
        where=_s.written_at < _now - timedelta(seconds=CLAIM_SECONDS),
    )
    if c.execute(claimed.returning(_s.part)).first() is None:
        return False
    stored = c.execute(sa.select(_s.part).where(_of(one, version), _s.part != CLAIM).limit(1)).first()
    if stored is not None:  # just now, by one whose claim went with that
        c.execute(sa.delete(search_segments).where(_of(one, version), _s.part == CLAIM))
    return stored is None


def renew(c: Connection, one: Listed, version: str) -> None:
    c.execute(sa.update(search_segments).where(_of(one, version), _s.part == CLAIM).values(written_at=_now))


def save(c: Connection, one: Listed, version: str, data: bytes) -> None:
    """In place of the claim. Nothing of a generation that is gone."""
    c.execute(sa.delete(search_segments).where(_of(one, version)))
    row = _row(c, one, version)
    if row is None:
        return
    for at in range(0, len(data), PART):
        part = {**row, "part": at // PART, "data": data[at : at + PART]}
        c.execute(sa.insert(search_segments).values(**part, written_at=_now))


def _row(c: Connection, one: Listed, version: str) -> dict[str, Any] | None:
    """What all parts have in common. None if the source does not offer this generation now."""
    listed = sa.select(listings.c.workspace_id).where(
        listings.c.source_id == one.source_id, listings.c.generation == one.generation
    )
    workspace_id = c.execute(listed).scalar()
    if workspace_id is None:
        return None
    key = {"source_id": one.source_id, "generation": one.generation, "version": version}
    return {"workspace_id": workspace_id, **key}


def sweep(c: Connection, version: str) -> None:
    """Remove what is of a generation that is gone, or of another version long ago."""
    c.execute(sa.delete(search_segments).where(_is_left_over(version)))


def has_left_over(c: Connection, version: str) -> bool:
    return c.execute(sa.select(_s.source_id).where(_is_left_over(version)).limit(1)).first() is not None


def _is_left_over(version: str) -> sa.ColumnElement[bool]:
    is_listed = sa.exists().where(listings.c.source_id == _s.source_id, listings.c.generation == _s.generation)
    is_old = sa.and_(_s.version != version, _s.written_at < _now - KEPT)
    return sa.or_(sa.not_(is_listed), is_old)
