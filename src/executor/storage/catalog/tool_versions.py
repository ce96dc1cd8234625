"""Versions of tools and of the definitions they share: stored once by digest, never changed, never removed.

A call records the digest of its tool, so what was called can be read long after its source has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.model.ids import now_ms
from executor.model.packed import DefinitionRow, ToolRow
from executor.model.tool import Schema, Tool
from executor.storage.prepared_statements import Prepared as Many
from executor.storage.rows import load
from executor.storage.tables.core import definitions as definitions_table
from executor.storage.tables.core import tool_versions
from executor.storage.upserts import insert_of

BATCH = 400
Links = dict[str, str]


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    schema: Schema
    links: Links


def add_definitions(c: Connection, workspace_id: str, rows: Sequence[DefinitionRow]) -> None:
    _inserting(c, definitions_table).rows(c, [(workspace_id, *row) for row in rows])


def add_tools(c: Connection, workspace_id: str, rows: Sequence[ToolRow]) -> None:
    created_at = now_ms()
    values = [(workspace_id, *_values(row), created_at) for row in rows]
    _inserting(c, tool_versions).rows(c, values)


def get(c: Connection, workspace_id: str, digest: str) -> Tool | None:
    """The tool as it was, without a source: that may be gone."""
    t = tool_versions.c
    if not digest.isascii():
        return None
    row = c.execute(sa.select(tool_versions).where(t.workspace_id == workspace_id, t.digest == digest)).first()
    if row is None:
        return None
    return Tool(
        path=row.path,
        source_id="",
        description=row.description,
        effect=row.effect,
        input_schema=load(row.input_schema),
        output_schema=load(row.output_schema),
        binding=load(row.binding),
        idempotent=bool(row.idempotent),
        schema_digest=row.digest,
    )


def row(c: Connection, workspace_id: str, digest: str) -> ToolRow:
    """A version as it is stored; without the tags and the deprecation, which are no part of one."""
    t = tool_versions.c
    one = c.execute(sa.select(tool_versions).where(t.workspace_id == workspace_id, t.digest == digest)).one()
    return ToolRow(
        one.path,
        one.description,
        one.effect,
        "[]",
        False,
        bool(one.idempotent),
        one.input_schema,
        one.output_schema,
        one.binding,
        one.digest,
        one.links,
    )


def of_path(c: Connection, workspace_id: str, path: str, digests: Iterable[str]) -> Tool | None:
    """That of these versions which is of this path, if any is."""
    wanted, t = sorted(digests), tool_versions.c
    for start in range(0, len(wanted), BATCH):
        named = t.digest.in_(wanted[start : start + BATCH])
        query = sa.select(t.digest).where(t.workspace_id == workspace_id, named, t.path == path)
        if (found := c.execute(query).scalar()) is not None:
            return get(c, workspace_id, found)
    return None


def links_of(c: Connection, workspace_id: str, digests: Sequence[str]) -> dict[str, Links]:
    """By the digest of each version."""
    t, found = tool_versions.c, dict[str, Links]()
    for start in range(0, len(digests), BATCH):
        named = t.digest.in_(digests[start : start + BATCH])
        rows = c.execute(sa.select(t.digest, t.links).where(t.workspace_id == workspace_id, named))
        found |= {row.digest: load(row.links) for row in rows}
    return found


def links(c: Connection, workspace_id: str, digest: str) -> Links:
    t = tool_versions.c
    found = c.execute(sa.select(t.links).where(t.workspace_id == workspace_id, t.digest == digest)).scalar()
    return load(found) if found is not None else {}


def definitions(c: Connection, workspace_id: str, digests: Iterable[str]) -> list[Definition]:
    wanted, t, found = sorted(set(digests)), definitions_table.c, []
    for start in range(0, len(wanted), BATCH):
        named = t.digest.in_(wanted[start : start + BATCH])
        query = sa.select(t.name, t.schema, t.links).where(t.workspace_id == workspace_id, named)
        found += [Definition(row.name, load(row.schema), load(row.links)) for row in c.execute(query)]
    return found


_values = attrgetter(
    "schema_digest",
    *("path", "description", "effect", "idempotent", "input_schema", "output_schema", "binding", "links"),
)
_statements: dict[tuple[str, str], Many] = {}


def _inserting(c: Connection, table: sa.Table) -> Many:
    """What is there already stays: equal digests mean equal content."""
    key = (c.dialect.name, table.name)
    if key not in _statements:
        _statements[key] = Many(insert_of(c, table).on_conflict_do_nothing(), columns=tuple(table.c.keys()))
    return _statements[key]
