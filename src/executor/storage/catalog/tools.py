"""Tools: what each source offers now. Their schemas and bindings stand in `versions`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.model.ids import now_ms
from executor.model.known_keys import KnownBinding
from executor.model.packed import ToolRow
from executor.model.source import Source
from executor.model.tool import Effect, Tool
from executor.storage.prepared_statements import Prepared as Many
from executor.storage.rows import load
from executor.storage.tables.core import listings, sources, tool_versions
from executor.storage.tables.core import tools as tools_table
from executor.storage.upserts import lock_row, upsert

RAW = '"type":"raw"'  # in a binding
DIGEST = 5  # its place in the values of a row
SAID = 1_000  # of a description, in the record of a change
EMPTY = -1  # a generation without rows, which gets its number when it is shown
UNFINISHED_MS = 3_600_000  # after which a generation that no one sees was left by a process that is gone


@dataclass(frozen=True, slots=True)
class Head:
    """What lists and searches need of a tool, without its schemas."""

    path: str
    description: str
    effect: Effect
    tags: tuple[str, ...]
    deprecated: bool
    source_id: str
    schema_digest: str = ""


class Entry(NamedTuple):
    """One tool's versions before and after, by digest; empty where it was not there. `was` and `now` are the words
    about it (`description`, `deprecated`) that no version distinguishes, as far as they differ."""

    path: str
    before: str
    after: str
    was: Mapping[str, Any] = MappingProxyType({})
    now: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Differences:
    """What reading a source again changed, by paths. Of the `reworded` only what is said about them is another."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    reworded: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def differences(c: Connection, source_id: str, rows: Sequence[ToolRow]) -> tuple[Differences, bool]:
    """What these rows would change, and whether anything at all would be another."""
    before = {row.path: tuple(row) for row in c.execute(_own(source_id))}
    after = {row.path: _head_values(row) for row in rows}
    found = [_entry(path, before.get(path), after.get(path)) for path in sorted(before.keys() | after.keys())]
    entries = tuple(one for one in found if one.before != one.after or one.was != one.now)
    kinds: dict[str, list[str]] = {"added": [], "removed": [], "changed": [], "reworded": []}
    for one in entries:
        kinds[kind_of(one)].append(one.path)
    return Differences(**{kind: tuple(paths) for kind, paths in kinds.items()}, entries=entries), before != after


def kind_of(entry: Entry) -> Literal["added", "removed", "changed", "reworded"]:
    if not entry.before:
        return "added"
    if not entry.after:
        return "removed"
    return "changed" if entry.before != entry.after else "reworded"


def _entry(path: str, before: tuple[Any, ...] | None, after: tuple[Any, ...] | None) -> Entry:
    """Of both: path, description, effect, tags, deprecated, digest, held."""
    if before is None or after is None:
        return Entry(path, before[DIGEST] if before else "", after[DIGEST] if after else "")
    was, now = ({"description": row[1][:SAID], "deprecated": bool(row[4])} for row in (before, after))
    differing = [name for name in was if was[name] != now[name]]
    return Entry(
        path,
        before[DIGEST],
        after[DIGEST],
        {name: was[name] for name in differing},
        {name: now[name] for name in differing},
    )


def begin_generation(c: Connection, source: Source, rows: Sequence[ToolRow]) -> int:
    """The first rows of a new generation, and its number. One without rows leaves no trace, so it has none yet."""
    if not rows:
        return EMPTY
    lock_row(c, sources, source.id)  # another process may begin one too
    generation = next_generation(c, source.id)
    add(c, source, generation, rows)
    return generation


def next_generation(c: Connection, source_id: str) -> int:
    """Above every one that is there, whatever the clock says. The source is locked."""
    written = sa.select(sa.func.max(tools_table.c.generation)).where(tools_table.c.source_id == source_id)
    shown = sa.select(listings.c.generation).where(listings.c.source_id == source_id)
    last = max(c.execute(query).scalar() or 0 for query in (written, shown))
    return max(now_ms(), last + 1)


def add(c: Connection, source: Source, generation: int, rows: Sequence[ToolRow]) -> None:
    """No one sees them before `show`."""
    key = (source.id, generation)
    values = [_head_values(row) for row in rows]
    _insert.rows(c, [(*key, path, source.workspace_id, *rest) for path, *rest in values])


def show(c: Connection, source: Source, generation: int) -> None:
    """From now on the source offers exactly the tools of this generation. The source is locked, or not there yet."""
    number = next_generation(c, source.id) if generation == EMPTY else generation
    values = {"source_id": source.id, "workspace_id": source.workspace_id, "generation": number}
    upsert(c, listings, ("source_id",), values)


def unseen(
    c: Connection, source_id: str = "", *, before: int = 0, own: int = 0, is_gone: bool = False, limit: int
) -> list[dict[str, Any]]:
    """Keys of rows that no one sees, of one source or of all; with `before`, only of generations begun earlier.

    What another process may be writing is left alone, unless the source `is_gone`. `own` is what the caller wrote.
    """
    t = tools_table.c
    mine: tuple[sa.ColumnElement[bool], ...] = (t.source_id == source_id,) if source_id else ()
    mine += (t.generation < before,) if before else ()
    seen = sa.exists().where(listings.c.source_id == t.source_id, listings.c.generation == t.generation)
    if c.dialect.name != "sqlite" and not is_gone:
        newer = sa.exists().where(listings.c.source_id == t.source_id, listings.c.generation > t.generation)
        mine += (sa.or_(newer, t.generation == own, t.generation < now_ms() - UNFINISHED_MS),)
    query = sa.select(t.source_id, t.generation, t.path).where(*mine, ~seen).limit(limit)
    return [{"s": row.source_id, "g": row.generation, "p": row.path} for row in c.execute(query)]


def drop(c: Connection, keys: Sequence[dict[str, Any]]) -> None:
    _delete(c, keys)


def get(c: Connection, workspace_id: str, path: str) -> Tool | None:
    t, v = tools_table.c, tool_versions.c
    version = (v.idempotent, v.input_schema, v.output_schema, v.binding)
    query = sa.select(tools_table, *version).join_from(tools_table, tool_versions, _version).join(listings, _seen)
    row = c.execute(query.where(t.workspace_id == workspace_id, t.path == path)).first()
    return _tool(row) if row is not None else None


def whole(c: Connection, workspace_id: str, source_id: str = "") -> Iterator[Tool]:
    """Every tool of one source, or of all, with its schemas, in the order of their paths."""
    t, v = tools_table.c, tool_versions.c
    version = (v.idempotent, v.input_schema, v.output_schema, v.binding)
    query = sa.select(tools_table, *version).join_from(tools_table, tool_versions, _version).join(listings, _seen)
    query = query.where(t.workspace_id == workspace_id, *((t.source_id == source_id,) if source_id else ()))
    return map(_tool, c.execution_options(yield_per=500).execute(query.order_by(t.path)))


def raw_paths(c: Connection, source_id: str) -> set[str]:
    """The tools of a source that take a whole document of one's own."""
    query = sa.select(tools_table.c.path).join_from(tools_table, tool_versions, _version).join(listings, _seen)
    query = query.where(tools_table.c.source_id == source_id, tool_versions.c.binding.contains(RAW))
    return set(c.execute(query).scalars())


def heads(c: Connection, workspace_id: str) -> list[Head]:
    """Every tool of the workspace, in the order of their paths."""
    rows = c.execution_options(yield_per=500).execute(_heads(workspace_id))
    return [_head(row) for row in rows]


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
    query = (
        sa.select(sa.func.count())
        .select_from(tools_table)
        .join(listings, _seen)
        .where(tools_table.c.workspace_id == workspace_id)
    )
    return int(c.execute(query).scalar_one())


def digests(c: Connection, source_id: str) -> list[tuple[str, Effect, str]]:
    """Path, effect and digest of everything a source offers."""
    t = tools_table.c
    query = sa.select(t.path, t.effect, t.schema_digest).join_from(tools_table, listings, _seen)
    return [(row.path, row.effect, row.schema_digest) for row in c.execute(query.where(t.source_id == source_id))]


def bindings(c: Connection, source_id: str) -> list[tuple[str, Effect, KnownBinding]]:
    """Path, effect and binding of everything a source offers."""
    t, v = tools_table.c, tool_versions.c
    query = sa.select(t.path, t.effect, v.binding).join_from(tools_table, tool_versions, _version).join(listings, _seen)
    query = query.where(t.source_id == source_id)
    return [(row.path, row.effect, load(row.binding)) for row in c.execute(query)]


def head_rows(c: Connection, source_id: str) -> list[ToolRow]:
    """Everything a source offers, without what only versions have."""
    rows = c.execute(_own(source_id).order_by(tools_table.c.path))
    return [
        ToolRow(path, said, effect, tags, bool(deprecated), False, "", None, "", digest, "", bool(held))
        for path, said, effect, tags, deprecated, digest, held in rows
    ]


def simple_reads(c: Connection, source_id: str, limit: int) -> list[Tool]:
    """What a source offers that only reads and requires no argument, the shortest paths first."""
    t, v = tools_table.c, tool_versions.c
    version = (v.idempotent, v.input_schema, v.output_schema, v.binding)
    query = sa.select(tools_table, *version).join_from(tools_table, tool_versions, _version).join(listings, _seen)
    query = query.where(t.source_id == source_id, t.effect == "read").order_by(sa.func.length(t.path), t.path)
    found = (_tool(row) for row in c.execution_options(yield_per=100).execute(query))
    return list(islice((tool for tool in found if not tool.input_schema.get("required")), limit))


def _heads(workspace_id: str) -> sa.Select[Any]:
    t = tools_table.c
    columns = sa.select(t.path, t.description, t.effect, t.tags, t.deprecated, t.source_id, t.schema_digest)
    return columns.join_from(tools_table, listings, _seen).where(t.workspace_id == workspace_id).order_by(t.path)


def _head(row: Any) -> Head:
    tags = tuple(load(row.tags))
    return Head(row.path, row.description, row.effect, tags, bool(row.deprecated), row.source_id, row.schema_digest)


def _head_values(row: ToolRow) -> tuple[Any, ...]:
    return row.path, row.description, row.effect, row.tags, bool(row.deprecated), row.schema_digest, bool(row.held)


def _own(source_id: str) -> sa.Select[Any]:
    t = tools_table.c
    deprecated, held = (sa.cast(flag, sa.Integer) for flag in (t.deprecated, t.held))
    query = sa.select(t.path, t.description, t.effect, t.tags, deprecated, t.schema_digest, held)
    return query.join_from(tools_table, listings, _seen).where(t.source_id == source_id)


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
        held=bool(row.held),
    )


_insert = Many(sa.insert(tools_table), columns=tuple(tools_table.c.keys()))
_delete = Many(
    sa.delete(tools_table).where(
        tools_table.c.source_id == sa.bindparam("s"),
        tools_table.c.generation == sa.bindparam("g"),
        tools_table.c.path == sa.bindparam("p"),
    )
)
_seen = sa.and_(listings.c.source_id == tools_table.c.source_id, listings.c.generation == tools_table.c.generation)
_version = sa.and_(
    tool_versions.c.workspace_id == tools_table.c.workspace_id, tool_versions.c.digest == tools_table.c.schema_digest
)
