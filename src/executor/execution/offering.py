"""How one of Executor's own tools is declared."""

from __future__ import annotations

from executor.model.digest import digest
from executor.model.tool import Effect, Schema, Tool

SOURCE = "builtin"


def own_tool(
    path: str,
    description: str,
    effect: Effect,
    properties: Schema,
    required: tuple[str, ...] = (),
    output: Schema | None = None,
) -> Tool:
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return Tool(path, SOURCE, description, effect, schema, output, schema_digest=digest([path, schema, effect]))


def text(description: str) -> Schema:
    return {"type": "string", "minLength": 1, "description": description}
