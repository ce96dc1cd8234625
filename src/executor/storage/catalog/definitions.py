"""Which definitions a schema needs. They are fetched step by step, so only what is reached is ever read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy.engine import Connection

from executor.model.tool import Schema, Tool
from executor.schemas.references import names_in
from executor.storage.catalog import tool_versions

MAX_DEFINITIONS = 5_000


def read_reached(
    c: Connection, workspace_id: str, schema_digest: str, names: Iterable[str], *, steps: int = 100
) -> dict[str, Schema]:
    """Definitions by name, as the version of a tool knows them, as far as `steps` references away."""
    names = set(names)
    if not names:
        return {}
    known = tool_versions.links(c, workspace_id, schema_digest)
    found: dict[str, Schema] = {name: {} for name in names}
    wanted = {known[name] for name in names if name in known}
    while wanted and steps and len(found) < MAX_DEFINITIONS:
        following: dict[str, str] = {}
        for definition in tool_versions.definitions(c, workspace_id, wanted):
            found[definition.name] = definition.schema
            following |= definition.links
        wanted = {digest for name, digest in following.items() if name not in found}
        found |= {name: {} for name in following if name not in found}
        steps -= 1
    return found


def with_definitions(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Self-contained: what the schema reaches is in its `$defs`."""
    needed: dict[str, Schema] = {}
    wanted = names_in(schema)
    while wanted:
        needed |= {name: definitions.get(name, {}) for name in wanted}
        wanted = names_in(*(needed[name] for name in wanted)) - needed.keys()
    return {**schema, "$defs": dict(sorted(needed.items()))} if needed else schema


def schemas_of(c: Connection, workspace_id: str, tool: Tool) -> dict[str, Any]:
    known = read_reached(c, workspace_id, tool.schema_digest, names_in(tool.input_schema, tool.output_schema))
    output = None if tool.output_schema is None else with_definitions(tool.output_schema, known)
    return {"inputSchema": with_definitions(tool.input_schema, known), "outputSchema": output}
