"""How one of Executor's own tools is declared."""

from __future__ import annotations

from executor.model.digest import digest
from executor.model.identity.permissions import Permission
from executor.model.tool import Effect, Schema, Tool

SOURCE = "builtin"


def own_tool(
    path: str,
    description: str,
    effect: Effect,
    properties: Schema,
    required: tuple[str, ...] = (),
    output: Schema | None = None,
    needs: tuple[Permission, ...] = (),
) -> Tool:
    """What changes something says what its approver must be allowed to do; it can't be left out."""
    if effect != "read" and not needs:
        raise TypeError(f"{path} changes something and does not declare its permission")
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    seen = digest([path, schema, effect])
    return Tool(path, SOURCE, description, effect, schema, output, schema_digest=seen, needs=needs)


def text(description: str) -> Schema:
    return {"type": "string", "minLength": 1, "description": description}
