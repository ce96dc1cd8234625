"""Schemas of arguments as strict MCP clients and models take them. What they leave out is still checked at the call."""

from __future__ import annotations

import re
from typing import Any

from executor.schemas.references import PREFIX

Schema = dict[str, Any]
MOST_CHARACTERS = 20_000
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# At the top level, models of several vendors refuse a request that has a tool with one of these.
_ALTERNATIVES = ("oneOf", "anyOf", "allOf", "not", "if", "then", "else", "enum", "const")


def portable_schema(schema: Schema) -> tuple[Schema, list[str]]:
    """One object with named properties, and the names of the properties that had to be left out of it."""
    root = _resolve(schema)
    listed = root.get("properties")
    properties = dict(listed) if isinstance(listed, dict) else {}
    for one in root.get("allOf") or ():
        part = _resolve(one, schema) if isinstance(one, dict) else {}
        properties = {**(part.get("properties") or {}), **properties}
    unfit = [name for name in properties if not _KEY.fullmatch(name)]
    kept = {name: value for name, value in properties.items() if name not in unfit}
    rest = {key: value for key, value in root.items() if key not in _ALTERNATIVES and not key.startswith("$")}
    required = [name for name in root.get("required") or () if name in kept]
    found: Schema = {**rest, "type": "object", "properties": kept}
    found.pop("required", None)
    if required:
        found["required"] = required
    if unfit:
        found["additionalProperties"] = True
    if schema.get("$defs"):
        found["$defs"] = schema["$defs"]
    return found, unfit


def without_nulls(arguments: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Models that must name every argument send null for what they leave out, also where null is none of the values."""
    properties = _resolve(schema).get("properties")
    known = properties if isinstance(properties, dict) else {}
    return {name: value for name, value in arguments.items() if value is not None or _takes_null(known.get(name))}


def _takes_null(schema: Any) -> bool:
    """In doubt it does: then the catalog says what is wrong."""
    types = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(types, str):
        return types == "null" or bool(schema.get("nullable"))
    return not isinstance(types, list) or "null" in types


def _resolve(schema: Schema, document: Schema | None = None) -> Schema:
    """What a reference at the top means."""
    definitions = (document or schema).get("$defs") or {}
    for _ in range(10):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith(PREFIX):
            break
        found = definitions.get(reference.removeprefix(PREFIX))
        if not isinstance(found, dict):
            break
        schema = found
    return schema
