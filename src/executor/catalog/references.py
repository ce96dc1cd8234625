"""Which definitions a schema needs. They are fetched step by step, so only what is reached is ever read."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy.engine import Connection

from executor.model.tool import Schema
from executor.sources.references import names_in
from executor.storage import tools

MAX_DEFINITIONS = 5_000


def reached(c: Connection, source_id: str, names: Iterable[str], *, steps: int = 100) -> dict[str, Schema]:
    """Definitions by name, as far as `steps` references away."""
    found: dict[str, Schema] = {}
    wanted = set(names)
    while wanted and steps and len(found) < MAX_DEFINITIONS:
        fetched = tools.definitions(c, source_id, wanted)
        found |= {name: fetched.get(name, {}) for name in wanted}
        wanted = names_in(*fetched.values()) - found.keys()
        steps -= 1
    return found


def with_definitions(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Self-contained: what the schema reaches stands in its `$defs`."""
    needed: dict[str, Schema] = {}
    wanted = names_in(schema)
    while wanted:
        needed |= {name: definitions.get(name, {}) for name in wanted}
        wanted = names_in(*(needed[name] for name in wanted)) - needed.keys()
    return {**schema, "$defs": dict(sorted(needed.items()))} if needed else schema
