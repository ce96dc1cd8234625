"""Pass-through as MCP clients see it: the definitions of tools that are called directly, beside `execute`."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import orjson

from executor.catalog.signatures.escape import first_sentence
from executor.schemas.portable import MOST_CHARACTERS, portable_schema
from executor.surfaces.escape import escape, shorten
from executor.surfaces.mcp.tool_definitions import TOOLS

if TYPE_CHECKING:
    from executor.execution.toolkits.exposure import Exposed

DESCRIPTION_CHARACTERS = 1_000
TITLE_CHARACTERS = 80
# Of the request under way, by name. The SDK's own tasks start from the request's and inherit it.
EXPOSED: ContextVar[Mapping[str, Exposed] | None] = ContextVar("exposed", default=None)


def find_exposed(name: str) -> Exposed | None:
    exposed = EXPOSED.get()
    return exposed.get(name) if exposed else None


def list_tools() -> list[dict[str, Any]]:
    """For `tools/list`: the two that everyone has, then those of the toolkit."""
    exposed = EXPOSED.get()
    return [*TOOLS, *map(define, exposed.values())] if exposed else TOOLS


def define(exposed: Exposed) -> dict[str, Any]:
    schema, unfit = portable_schema(exposed.input_schema)
    notes = [f"Also takes: {', '.join(unfit)}."] if unfit else []
    if len(orjson.dumps(schema)) > MOST_CHARACTERS:
        schema = {"type": "object"}
        notes.append(f'Its arguments: execute `return await tools.describe.tool({{path: "{exposed.tool.path}"}})`.')
    text = shorten(exposed.tool.description.strip() or exposed.tool.path, DESCRIPTION_CHARACTERS)
    return {
        "name": exposed.name,
        "title": title_of(exposed),
        "description": " ".join([text, *map(escape, notes)]),
        "inputSchema": schema,
        "annotations": annotations_of(exposed),
    }


def mirrors_arguments(exposed: Exposed) -> bool:
    """Whether clients repeat some of its arguments as headers, `Mcp-Param-…`, which have to agree with the body."""
    properties = exposed.input_schema.get("properties")
    found = properties.values() if isinstance(properties, dict) else ()
    return any(isinstance(one, dict) and "x-mcp-header" in one for one in found)


def title_of(exposed: Exposed) -> str:
    return first_sentence(exposed.tool.description, TITLE_CHARACTERS) or exposed.tool.path


def annotations_of(exposed: Exposed) -> dict[str, bool]:
    """Of what calls do. Executor decides who must agree to one, so a client need not ask as well: see
    docs/decisions/hints-of-execute.md for why nothing is said to be open-world."""
    effect = exposed.tool.effect
    if effect == "read":
        return {"readOnlyHint": True, "openWorldHint": False}
    return {"readOnlyHint": False, "destructiveHint": effect == "destructive", "openWorldHint": False}
