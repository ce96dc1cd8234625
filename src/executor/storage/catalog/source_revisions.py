"""Revisions: what each reading of a source changed. The versions that they name are stored for good."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.model.source import Source
from executor.storage.catalog.tools import Differences, Entry
from executor.storage.tables.core import revisions

KEPT = 10


@dataclass(frozen=True, slots=True)
class Revision:
    """`entries` only where they were asked for."""

    at: int
    added: int
    removed: int
    changed: int
    reworded: int
    entries: tuple[Entry, ...] = ()


def pack(entries: Sequence[Entry]) -> bytes:
    return zlib.compress(orjson.dumps([(*entry[:3], dict(entry.was), dict(entry.now)) for entry in entries]), 3)


def add(c: Connection, source: Source, differences: Differences, entries: bytes) -> None:
    """The last few are kept. `entries` are those of `differences`, packed ahead."""
    mine = (revisions.c.source_id == source.id, revisions.c.workspace_id == source.workspace_id)
    row = {
        "source_id": source.id,
        "workspace_id": source.workspace_id,
        "at": source.refreshed_at,
        "added": len(differences.added),
        "removed": len(differences.removed),
        "changed": len(differences.changed),
        "reworded": len(differences.reworded),
        "entries": entries,
    }
    c.execute(sa.delete(revisions).where(*mine, revisions.c.at == source.refreshed_at))
    c.execute(sa.insert(revisions), row)
    newest = sa.select(revisions.c.at).where(*mine).order_by(revisions.c.at.desc()).limit(KEPT)
    kept = [at for (at,) in c.execute(newest)]
    c.execute(sa.delete(revisions).where(*mine, revisions.c.at < min(kept)))


def listing(c: Connection, workspace_id: str, source_id: str) -> list[Revision]:
    """Newest first."""
    t = revisions.c
    mine = (t.source_id == source_id, t.workspace_id == workspace_id)
    query = sa.select(t.at, t.added, t.removed, t.changed, t.reworded).where(*mine).order_by(t.at.desc())
    return [Revision(*row) for row in c.execute(query)]


def get(c: Connection, workspace_id: str, source_id: str, at: int) -> Revision | None:
    t = revisions.c
    mine = (t.source_id == source_id, t.workspace_id == workspace_id, t.at == at)
    row = c.execute(sa.select(revisions).where(*mine)).first()
    return None if row is None else _revision(row)


def _revision(row: Any) -> Revision:
    entries = tuple(Entry(*entry) for entry in orjson.loads(zlib.decompress(row.entries)))
    return Revision(row.at, row.added, row.removed, row.changed, row.reworded, entries)
