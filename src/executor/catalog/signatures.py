"""A tool's signature in TypeScript: what an agent reads before it writes a call."""

from __future__ import annotations

from collections.abc import Mapping

from executor.catalog.text import comment
from executor.catalog.typescript import Types, braced
from executor.model.tool import Schema, Tool

FULL = 6_000
COMPACT = 900
MAX_TYPES = 8
MAX_SUMMARY = 160


def signature(tool: Tool, definitions: Mapping[str, Schema], *, budget: int = FULL) -> str:
    """At most about `budget` characters; what is left out is said."""
    types = Types(definitions, notes=budget >= FULL)
    arguments = arguments_type(tool, types, budget // 2)
    output = "unknown" if tool.output_schema is None else types.render(tool.output_schema)
    if len(output) > budget // 2:
        output = "object /* large: see includeSchemas */"
        types.waiting = [name for name in types.waiting if types.name(name) in arguments]
    notes = f"/** {comment(tool.description, MAX_SUMMARY)}{' (deprecated)' if tool.deprecated else ''} */\n"
    call = f"tools.{tool.path}({arguments}): Promise<{output}>"
    return "\n".join([notes + call, *shared_types(types, budget - len(call))])


def arguments_type(tool: Tool, types: Types, budget: int) -> str:
    schema = tool.input_schema
    required = set(schema.get("required", []))
    hidden = unshown(tool) - required
    properties = {name: part for name, part in schema.get("properties", {}).items() if name not in hidden}
    if not properties:
        return ""
    order = sorted(properties, key=lambda name: name not in required)
    fields = [types.field(name, properties[name], name in required, 0) for name in order]
    return f"args{'' if required else '?'}: {braced(fitting(fields, len(required), budget), 0)}"


def unshown(tool: Tool) -> set[str]:
    """Accepted, but rarely worth the words: a key that is filled in anyway, `body` where its fields stand beside."""
    body = tool.binding.get("body") or {}
    names = {tool.binding.get("idempotencyArgument", "")}
    return names | {"body"} if body.get("flat") and "body" not in body["flat"] else names


def fitting(fields: list[tuple[str, str]], required: int, budget: int) -> list[tuple[str, str]]:
    """Required arguments always; optional ones as long as there is room."""
    size = 0
    for index, (written, note) in enumerate(fields):
        size += len(written) + len(note) + 6
        if size > budget and index >= required and index:
            left = len(fields) - index
            return [*fields[:index], (f"/* {left} more optional: see includeSchemas */", "")]
    return fields


def shared_types(types: Types, budget: int) -> list[str]:
    written: list[str] = []
    while types.waiting and len(written) < MAX_TYPES:
        definition = types.waiting[0]
        line = f"type {types.name(definition)} = {types.render(types.definitions.get(definition, {}))};"
        if len(line) > budget:
            break
        types.waiting.remove(definition)
        written.append(line)
        budget -= len(line)
    if types.waiting:
        names = list(dict.fromkeys(types.name(definition) for definition in types.waiting))
        written.append(f"// more types: {', '.join(names[:12])}{' …' if len(names) > 12 else ''}")
    return written
