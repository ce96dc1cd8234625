"""Tools and the definitions their schemas share. Both are replaced as a whole when their source is read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.source import Source
from executor.model.tool import Effect, Schema, Tool
from executor.storage.rows import dump, load
from executor.storage.tables import definitions as definitions_table
from executor.storage.tables import tools as tools_table

BATCH = 400


@dataclass(frozen=True, slots=True)
class Head:
    """What lists and searches need of a tool, without its schemas."""

    path: str
    description: str
    effect: Effect
    tags: tuple[str, ...]
    deprecated: bool
    source_id: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """Rows made ahead, so that serializing a large catalog does not hold up the one writer."""

    tools: list[dict[str, Any]]
    definitions: list[dict[str, Any]]


def prepare(source: Source, tools: Iterable[Tool], definitions: Mapping[str, Schema]) -> Prepared:
    owner = {"source_id": source.id, "workspace_id": source.workspace_id}
    return Prepared(
        [{**owner, **_row(tool)} for tool in tools],
        [{**owner, "name": name, "schema": dump(schema)} for name, schema in definitions.items()],
    )


def replace_all(c: Connection, source: Source, prepared: Prepared) -> None:
    for table, rows in ((tools_table, prepared.tools), (definitions_table, prepared.definitions)):
        c.execute(sa.delete(table).where(table.c.source_id == source.id))
        if rows:
            c.execute(sa.insert(table), rows)


def get(c: Connection, workspace_id: str, path: str) -> Tool | None:
    query = sa.select(tools_table).where(tools_table.c.workspace_id == workspace_id, tools_table.c.path == path)
    row = c.execute(query).first()
    return _tool(row) if row is not None else None


def heads(c: Connection, workspace_id: str) -> list[Head]:
    """Every tool of the workspace, in the order of their paths."""
    return [_head(row) for row in c.execute(_heads(workspace_id))]


def page(
    c: Connection, workspace_id: str, *, prefix: str = "", source_id: str = "", limit: int = 100, after: str = ""
) -> list[Head]:
    query = _heads(workspace_id).limit(limit)
    if not (prefix + after).isascii():
        return []
    if prefix:
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        query = query.where(tools_table.c.path >= prefix, tools_table.c.path < end)
    if source_id:
        query = query.where(tools_table.c.source_id == source_id)
    if after:
        query = query.where(tools_table.c.path > after)
    return [_head(row) for row in c.execute(query)]


def count(c: Connection, workspace_id: str) -> int:
    query = sa.select(sa.func.count()).select_from(tools_table).where(tools_table.c.workspace_id == workspace_id)
    return int(c.execute(query).scalar_one())


def definitions(c: Connection, source_id: str, names: Iterable[str]) -> dict[str, Schema]:
    wanted, table, found = sorted(set(names)), definitions_table, {}
    for start in range(0, len(wanted), BATCH):
        named = table.c.name.in_(wanted[start : start + BATCH])
        for row in c.execute(sa.select(table.c.name, table.c.schema).where(table.c.source_id == source_id, named)):
            found[row.name] = load(row.schema)
    return found


def _heads(workspace_id: str) -> sa.Select[Any]:
    t = tools_table.c
    columns = sa.select(t.path, t.description, t.effect, t.tags, t.deprecated, t.source_id)
    return columns.where(t.workspace_id == workspace_id).order_by(t.path)


def _head(row: Any) -> Head:
    return Head(row.path, row.description, row.effect, tuple(load(row.tags)), bool(row.deprecated), row.source_id)


def _row(tool: Tool) -> dict[str, Any]:
    return {
        "path": tool.path,
        "description": tool.description,
        "effect": tool.effect,
        "tags": dump(tool.tags),
        "deprecated": tool.deprecated,
        "idempotent": tool.idempotent,
        "input_schema": dump(tool.input_schema),
        "output_schema": None if tool.output_schema is None else dump(tool.output_schema),
        "binding": dump(tool.binding),
        "schema_digest": tool.schema_digest,
    }


def _tool(row: Any) -> Tool:
    return Tool(
        path=row.path,
        source_id=row.source_id,
        description=row.description,
        effect=row.effect,
        input_schema=load(row.input_schema),
        output_schema=load(row.output_schema),
        binding=load(row.binding),
        tags=tuple(load(row.tags)),
        deprecated=bool(row.deprecated),
        idempotent=bool(row.idempotent),
        schema_digest=row.schema_digest,
    )
