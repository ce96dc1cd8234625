"""Reviews: tools whose change no one has accepted yet, and the last definitions of those that are gone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.model.digest import digest
from executor.model.packed import ToolRow
from executor.model.source import Source
from executor.storage.rows import dump, load
from executor.storage.tables.core import tool_reviews

PART = 500


@dataclass(frozen=True, slots=True)
class Review:
    """Rows without what only versions have, under the source's own names. `offered` is None for a tool that is gone,
    `before` for one that was never in use."""

    path: str
    before: ToolRow | None
    offered: ToolRow | None
    since: int

    @property
    def is_pending(self) -> bool:
        return self.offered is not None

    @property
    def refuses(self) -> bool:
        """Other words leave a tool in use, with the old ones; all else may mean another act."""
        return self.before is None or self.offered is None or self.before.schema_digest != self.offered.schema_digest

    @property
    def digest(self) -> str:
        """Of what someone would accept."""
        return definition_digest(self.offered) if self.offered is not None else ""


def definition_digest(row: ToolRow) -> str:
    return digest(_values(row))


def of_source(c: Connection, source_id: str) -> dict[str, Review]:
    rows = c.execute(sa.select(tool_reviews).where(tool_reviews.c.source_id == source_id).order_by(tool_reviews.c.path))
    return {
        row.path: Review(row.path, _row(row.path, row.before), _row(row.path, row.offered), row.since) for row in rows
    }


def pending(c: Connection, source_id: str, after: str, limit: int) -> list[Review]:
    t = tool_reviews.c
    query = sa.select(tool_reviews).where(t.source_id == source_id, t.offered.is_not(None), t.path > after)
    rows = c.execute(query.order_by(t.path).limit(limit))
    return [Review(row.path, _row(row.path, row.before), _row(row.path, row.offered), row.since) for row in rows]


def count_pending(c: Connection, source_id: str) -> int:
    t = tool_reviews.c
    query = sa.select(sa.func.count()).where(t.source_id == source_id, t.offered.is_not(None))
    return int(c.execute(query).scalar_one())


def replace(c: Connection, source: Source, known: Mapping[str, Review], wanted: Mapping[str, Review]) -> None:
    """`known` are those that are stored."""
    changed = [one for path, one in wanted.items() if known.get(path) != one]
    remove(c, source.id, [path for path in known if wanted.get(path) != known[path]])
    for at in range(0, len(changed), PART):
        c.execute(sa.insert(tool_reviews), [_stored_values(source, one) for one in changed[at : at + PART]])


def remove(c: Connection, source_id: str, paths: Collection[str]) -> None:
    each: Sequence[str] = list(paths)
    for at in range(0, len(each), PART):
        some = tool_reviews.c.path.in_(each[at : at + PART])
        c.execute(sa.delete(tool_reviews).where(tool_reviews.c.source_id == source_id, some))


def _stored_values(source: Source, review: Review) -> dict[str, object]:
    before, offered = (None if row is None else dump(_values(row)) for row in (review.before, review.offered))
    key = {"source_id": source.id, "path": review.path, "workspace_id": source.workspace_id}
    return {**key, "before": before, "offered": offered, "since": review.since}


def _values(row: ToolRow) -> list[object]:
    return [row.description, row.effect, row.tags, bool(row.deprecated), row.schema_digest]


def _row(path: str, stored: str | None) -> ToolRow | None:
    if stored is None:
        return None
    description, effect, tags, deprecated, digest = load(stored)
    return ToolRow(path, description, effect, tags, deprecated, False, "", None, "", digest, "")
