"""Tools as a search knows them: read a few at a time, source by source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.storage.prepared_statements import Prepared
from executor.storage.tables.core import listings, sources, tool_versions, tools

BATCH = 400


@dataclass(frozen=True, slots=True)
class Listed:
    """What a source offers now. Another generation means other tools; the same one always the same."""

    source_id: str
    namespace: str
    generation: int


class EntryRow(NamedTuple):
    """Tags, binding and schema as they are stored: JSON text."""

    path: str
    description: str
    effect: str
    tags: str
    deprecated: bool
    binding: str
    input_schema: str


def list_sources(c: Connection, workspace_id: str = "") -> list[Listed]:
    """Of one workspace, or of all, in the order of namespaces."""
    query = sa.select(listings.c.source_id, sources.c.namespace, listings.c.generation)
    query = query.join_from(listings, sources, sources.c.id == listings.c.source_id)
    if workspace_id:
        query = query.where(listings.c.workspace_id == workspace_id)
    return [Listed(*row) for row in c.execute(query.order_by(sources.c.namespace))]


def page(c: Connection, one: Listed, after: str, limit: int) -> list[EntryRow]:
    """In the order of paths; nothing of a generation that is gone."""
    values = {"source": one.source_id, "generation": one.generation, "after": after, "limit": limit}
    return list(map(EntryRow._make, _page(c, values)))


def effects(c: Connection, one: Listed, after: str, limit: int) -> list[tuple[str, str]]:
    """By path, in the order of paths."""
    t = tools.c
    query = sa.select(t.path, t.effect).where(t.source_id == one.source_id, t.generation == one.generation)
    return [(row.path, row.effect) for row in c.execute(query.where(t.path > after).order_by(t.path).limit(limit))]


def summaries(c: Connection, workspace_id: str, paths: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Description and effect by path."""
    t = tools.c
    found: dict[str, tuple[str, str]] = {}
    seen = sa.and_(listings.c.source_id == t.source_id, listings.c.generation == t.generation)
    for start in range(0, len(paths), BATCH):
        query: sa.Select[Any] = sa.select(t.path, t.description, t.effect).join_from(tools, listings, seen)
        query = query.where(t.workspace_id == workspace_id, t.path.in_(paths[start : start + BATCH]))
        found |= {row.path: (row.description, row.effect) for row in c.execute(query)}
    return found


_page = Prepared(
    sa.select(
        *(tools.c.path, tools.c.description, tools.c.effect, tools.c.tags, tools.c.deprecated),
        *(tool_versions.c.binding, tool_versions.c.input_schema),
    )
    .join_from(
        tools,
        tool_versions,
        sa.and_(tool_versions.c.workspace_id == tools.c.workspace_id, tool_versions.c.digest == tools.c.schema_digest),
    )
    .where(
        tools.c.source_id == sa.bindparam("source"),
        tools.c.generation == sa.bindparam("generation"),
        tools.c.path > sa.bindparam("after"),
    )
    .order_by(tools.c.path)
    .limit(sa.bindparam("limit", type_=sa.Integer))
    .offset(sa.literal_column("0"))  # else SQLite is given it as a parameter
)
