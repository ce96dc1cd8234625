"""From tools and definitions to rows: all the serializing that storing a catalog takes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import Any, overload

import orjson

from executor.model.packed import DefinitionRow, Packed, ToolRow
from executor.model.source import Loaded
from executor.model.tool import Schema, Tool
from executor.schemas.digests import tool_digest
from executor.schemas.references import deep_digests, links_of


# Pieces of rows that stand in a file, one after the other.
class OpenFile:
    """A descriptor of its own, closed when no one needs it."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = os.dup(descriptor)

    def __del__(self) -> None:
        os.close(self.descriptor)


class Pieces(Sequence[bytes]):
    """Read on demand, by whichever thread needs them: all of them are never in memory together."""

    def __init__(self, file: OpenFile, start: int, sizes: Iterable[int]) -> None:
        self._file = file
        self._sizes = list(sizes)
        self._starts = list(accumulate(self._sizes, initial=start))

    @property
    def end(self) -> int:
        return self._starts[-1]

    def __len__(self) -> int:
        return len(self._sizes)

    @overload
    def __getitem__(self, at: int) -> bytes: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[bytes]: ...

    def __getitem__(self, at: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        return os.pread(self._file.descriptor, self._sizes[at], self._starts[range(len(self))[at]])


PIECE = 250


def pack(loaded: Loaded) -> Packed:
    if loaded.packed is not None:
        return loaded.packed
    definitions, tools = rows_of(loaded)
    return Packed(tuple(pieces(tools)), tuple(pieces(definitions)), len(loaded.tools))


def rows_of(loaded: Loaded) -> tuple[Iterator[DefinitionRow], Iterator[ToolRow]]:
    """Built one by one on demand, so that they need never be in memory together."""
    links = links_of(loaded.definitions)
    deep = deep_digests(loaded.definitions, links)
    return definition_rows(loaded.definitions, links, deep), (tool_row(tool, deep) for tool in loaded.tools)


def definition_rows(
    definitions: Mapping[str, Schema], links: Mapping[str, list[str]], deep: Mapping[str, str]
) -> Iterator[DefinitionRow]:
    for name, schema in definitions.items():
        linked = {other: deep[other] for other in links[name]}
        yield DefinitionRow(deep[name], name, text(schema), text(linked))


def tool_row(tool: Tool, deep: Mapping[str, str]) -> ToolRow:
    digest, named = tool_digest(tool, deep)
    return ToolRow(
        tool.path,
        tool.description,
        tool.effect,
        text(tool.tags),
        tool.deprecated,
        tool.idempotent,
        text(tool.input_schema),
        None if tool.output_schema is None else text(tool.output_schema),
        text(tool.binding),
        tool.schema_digest or digest,
        text({name: deep[name] for name in sorted(named) if name in deep}),
    )


def pieces(rows: Iterable[tuple[Any, ...]]) -> Iterator[bytes]:
    waiting = iter(rows)
    while some := [list(row) for row in islice(waiting, PIECE)]:
        yield orjson.dumps(some)


def tool_rows(piece: bytes) -> list[ToolRow]:
    return [ToolRow(*row) for row in orjson.loads(piece)]


def definition_rows_of(piece: bytes) -> list[DefinitionRow]:
    return [DefinitionRow(*row) for row in orjson.loads(piece)]


def text(value: Any) -> str:
    return orjson.dumps(value).decode()
