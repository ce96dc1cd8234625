"""From tools and definitions to rows: all the serializing that storing a catalog takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from executor.model.packed import DefinitionRow, Packed, ToolRow
from executor.model.references import deep_digests, links_of
from executor.model.source import Loaded
from executor.model.tool import Schema, Tool

PIECE = 250
_REFERENCE = re.compile(r'"\$ref":"#/\$defs/((?:[^"\\]|\\.)+)"')


def pack(loaded: Loaded) -> Packed:
    if loaded.packed is not None:
        return loaded.packed
    links = links_of(loaded.definitions)
    deep = deep_digests(loaded.definitions, links)
    return Packed(
        tools=tuple(pieces([tool_row(tool, deep) for tool in loaded.tools])),
        definitions=tuple(pieces(list(definition_rows(loaded.definitions, links, deep)))),
        tool_count=len(loaded.tools),
    )


def definition_rows(
    definitions: Mapping[str, Schema], links: Mapping[str, list[str]], deep: Mapping[str, str]
) -> Iterator[DefinitionRow]:
    for name, schema in definitions.items():
        linked = {other: deep[other] for other in links[name]}
        yield DefinitionRow(deep[name], name, text(schema), text(linked))


def tool_row(tool: Tool, deep: Mapping[str, str]) -> ToolRow:
    output = None if tool.output_schema is None else text(tool.output_schema)
    row = ToolRow(
        path=tool.path,
        description=tool.description,
        effect=tool.effect,
        tags=text(tool.tags),
        deprecated=tool.deprecated,
        idempotent=tool.idempotent,
        input_schema=text(tool.input_schema),
        output_schema=output,
        binding=text(tool.binding),
        schema_digest=tool.schema_digest,
        links="",
    )
    named = referenced(row.input_schema, output or "", row.binding)
    return row._replace(links=text({name: deep[name] for name in sorted(named) if name in deep}))


def referenced(*texts: str) -> set[str]:
    """Names of the definitions that JSON text points at. Much faster than walking through the values."""
    found = {name for written in texts for name in _REFERENCE.findall(written)}
    return {orjson.loads(f'"{name}"') if "\\" in name else name for name in found}


def pieces(rows: Sequence[tuple[Any, ...]]) -> Iterable[bytes]:
    return [orjson.dumps([list(row) for row in rows[at : at + PIECE]]) for at in range(0, len(rows), PIECE)]


def tool_rows(piece: bytes) -> list[ToolRow]:
    return [ToolRow(*row) for row in orjson.loads(piece)]


def definition_rows_of(piece: bytes) -> list[DefinitionRow]:
    return [DefinitionRow(*row) for row in orjson.loads(piece)]


def text(value: Any) -> str:
    return orjson.dumps(value).decode()
