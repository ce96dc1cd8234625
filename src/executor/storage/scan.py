"""Newest first, by index, and with a bound: a page costs the same however much there is.

Keys come from streams, each of which an index serves; what no index knows is read for a block of keys at a time. A scan
that has looked at its most keys, or for its longest time, ends its page early and says where the next one continues.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from executor.storage.prepared_statements import Prepared

Key = TypeVar("Key", str, int)
T = TypeVar("T")
Fetch = Callable[[Key, int], list[Key]]  # at most so many keys below one, newest first
Fits = Callable[[list[Key]], set[Key]]  # which of them are wanted

SCANNED = 20_000
SECONDS = 2.0
FEWEST, MOST = 64, 512  # keys read of a stream at a time
BLOCK = 256
NONE: Any = sa.literal_column("0")  # an offset that is not another parameter


class Page(list[T]):
    """`next` is where the following page begins. `partial`: this one ended at the bound, there may be more."""

    def __init__(self, items: Iterable[T] = (), next: Any = None, *, partial: bool = False) -> None:
        super().__init__(items)
        self.next = next
        self.partial = partial


class Unindexed(sa.ColumnElement[Any]):
    """A column that is compared and never searched by: SQLite would take an index on it for as good as any other."""

    inherit_cache = True
    _traverse_internals = [("column", sa.sql.visitors.InternalTraversal.dp_clauseelement)]  # noqa: RUF012 - as its base has it

    def __init__(self, column: sa.ColumnElement[Any]) -> None:
        self.column = column
        self.type = column.type


@compiles(Unindexed)
def _plain(element: Unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.column, **options)


@compiles(Unindexed, "sqlite")
def _compile_signed(element: Unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return f"+{compiler.process(element.column, **options)}"


class Position(sa.sql.functions.GenericFunction[int]):
    """Where a text begins in another one, 0 if it is not in there."""

    type = sa.Integer()
    name = "instr"
    inherit_cache = True


@compiles(Position, "postgresql")
def _compile_position(element: Position, compiler: SQLCompiler, **options: Any) -> str:
    return f"strpos{compiler.process(element.clause_expr, **options)}"


def stream_of(table: sa.Table, key: sa.ColumnElement[Any], *columns: sa.ColumnElement[Any]) -> Prepared:
    """Keys of the rows that have `v0`, `v1` … in `columns`, from below `before` down to `first`."""
    same = (column == sa.bindparam(f"v{number}") for number, column in enumerate(columns))
    bounds = (key < sa.bindparam("before"), key >= sa.bindparam("first"))
    query = sa.select(key).select_from(table).where(*same, *bounds).distinct()
    return Prepared(query.order_by(key.desc()).limit(sa.bindparam("n")).offset(NONE))


def fetching(c: Connection, stream: Prepared, first: Key, *values: str) -> Fetch[Key]:
    given = {f"v{number}": value for number, value in enumerate(values)}

    def fetch(before: Key, n: int) -> list[Key]:
        return [row[0] for row in stream(c, {**given, "before": before, "first": first, "n": n})]

    return fetch


def page(streams: Sequence[Fetch[Key]], before: Key, limit: int, fits: Fits[Key] | None = None) -> Page[Key]:
    """The newest keys of all streams together."""
    deadline = time.monotonic() + SECONDS
    keys = islice(_distinct(heapq.merge(*(_walk(one, before) for one in streams), reverse=True)), SCANNED)
    found: list[Key] = []
    size, seen, last = (limit if fits is None else BLOCK), 0, before
    while block := list(islice(keys, size)):
        wanted = None if fits is None else fits(block)
        found += block if wanted is None else [key for key in block if key in wanted]
        seen, last = seen + len(block), block[-1]
        if len(found) >= limit:
            return Page(found[:limit], found[limit - 1])
        if len(block) < size and seen < SCANNED:
            return Page(found)
        if seen >= SCANNED or time.monotonic() > deadline:
            return Page(found, last, partial=True)
    return Page(found)


def distinct_values(c: Connection, following: Prepared, workspace_id: str, begin: str, end: str) -> Iterator[str]:
    """The values of an indexed column from `begin` up to `end`, each found by one step from the one before."""
    values = {"w": workspace_id, "after": begin, "end": end}
    least = "\1" if c.dialect.name == "postgresql" else "\0"  # the first character that a text can have
    found = following(c, values).scalar()
    while found is not None:
        yield found
        found = following(c, {**values, "after": f"{found}{least}"}).scalar()


def _walk(fetch: Fetch[Key], before: Key) -> Iterator[Key]:
    n = FEWEST
    while keys := fetch(before, n):
        yield from keys
        if len(keys) < n:
            return
        before, n = keys[-1], min(MOST, n * 2)


def _distinct(keys: Iterable[Key]) -> Iterator[Key]:
    last: Key | None = None
    for key in keys:
        if key != last:
            yield key
        last = key
