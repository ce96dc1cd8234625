"""Schemas of a server's tools as JSON Schema 2020-12, with their definitions stored once per source.

Each tool brings its own `$defs`. Equal ones become one; different ones of one name get a number. What no reader of
the standard would accept is repaired or left out: a sloppy schema must not block a correct call.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from executor.model.tool import Schema
from executor.schemas.keywords import LISTS, MAPS, MAX_DEPTH, SINGLES, TYPES, plain
from executor.schemas.references import PREFIX, deep_digests, rename_references

DROPPED = frozenset(
    {"$schema", "$id", "id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor",
     "$comment", "$vocabulary", "$defs", "definitions", "dependencies", "additionalItems", "examples"}
)  # fmt: skip
MAX_NODES = 50_000


class SchemaTooLarge(Exception):
    """A reason to leave one tool out."""


class Definitions:
    """`shared` holds every definition that a schema given to `share` reaches, under the name its `$ref`s use."""

    def __init__(self) -> None:
        self.shared: dict[str, Schema] = {}
        self._names: dict[tuple[str, str], str] = {}

    def share(self, raw: Any) -> Schema:
        """Raises SchemaTooLarge."""
        reader = Reader(raw)
        schema = reader.schema(raw)
        own = reader.definitions()
        deep = deep_digests(own)
        names = {name: self._name(name, deep[name]) for name in own}

        def rename(name: str) -> str:
            return names.get(name, name)

        for name, definition in own.items():
            if names[name] not in self.shared:
                self.shared[names[name]] = rename_references(definition, rename)
        return rename_references(schema, rename) if isinstance(schema, dict) else ({} if schema else {"not": {}})

    def _name(self, name: str, content: str) -> str:
        known = self._names.get((name, content))
        if known is None:
            taken = set(self._names.values())
            known = next(one for one in (name, *(f"{name}_{count}" for count in range(2, 100_000))) if one not in taken)
            self._names[name, content] = known
        return known


class Reader:
    """Converts one tool's schema; `$ref`s of any local form become `#/$defs/Name`."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._names: dict[str, str] = {}
        self._pending: list[tuple[str, str]] = []
        self._nodes = 0

    def definitions(self) -> dict[str, Schema]:
        """Everything referred to by what was converted, and by that in turn."""
        found: dict[str, Schema] = {}
        while self._pending:
            name, ref = self._pending.pop()
            schema = self.schema(resolve(self._root, ref))
            found[name] = schema if isinstance(schema, dict) else ({} if schema else {"not": {}})
        return found

    def schema(self, raw: Any, depth: int = 0) -> Schema | bool:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise SchemaTooLarge(f"its schema has more than {MAX_NODES:,} parts")
        if isinstance(raw, bool):
            return raw
        if not isinstance(raw, dict) or depth > MAX_DEPTH:
            return {}
        schema: Schema = {}
        for key, value in raw.items():
            if key not in DROPPED:
                self._keyword(schema, key, value, depth + 1)
        return tidy(schema)

    def _keyword(self, schema: Schema, key: str, value: Any, depth: int) -> None:
        if key == "$ref":
            if isinstance(value, str) and value.startswith("#"):
                schema["$ref"] = PREFIX + self._name(value)
        elif key == "items" and isinstance(value, list):  # how older drafts write `prefixItems`
            schema["prefixItems"] = [self.schema(part, depth) for part in value]
        elif key in MAPS:
            if isinstance(value, dict):
                schema[key] = {name: self.schema(part, depth) for name, part in value.items()}
        elif key in LISTS:
            if isinstance(value, list) and value:
                schema[key] = [self.schema(part, depth) for part in value]
        elif key in SINGLES:
            if isinstance(value, dict | bool):
                schema[key] = self.schema(value, depth)
        else:
            schema[key] = plain(value)

    def _name(self, ref: str) -> str:
        name = self._names.get(ref)
        if name is None:
            base = re.sub(r"[^A-Za-z0-9_]+", "_", unquote(ref.rsplit("/", 1)[-1])).strip("_")[:80] or "Type"
            taken = set(self._names.values())
            name = next(one for one in (base, *(f"{base}_{count}" for count in range(2, 100_000))) if one not in taken)
            self._names[ref] = name
            self._pending.append((name, ref))
        return name


def resolve(root: Any, ref: str) -> Any:
    """What a local pointer leads to; anything at all (`{}`) if it leads nowhere."""
    node = root
    for part in unquote(ref[1:]).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            return {}
    return node


def tidy(schema: Schema) -> Schema:
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        flag = schema.get(exclusive)
        if isinstance(flag, bool):
            del schema[exclusive]
            if flag and bound in schema:
                schema[exclusive] = schema.pop(bound)
    types = schema.get("type")
    if types is not None:
        listed = types if isinstance(types, list) else [types]
        known = list(dict.fromkeys(one for one in listed if isinstance(one, str) and one in TYPES))
        schema.pop("type")
        if known:
            schema["type"] = known if len(known) > 1 else known[0]
    required = schema.pop("required", None)
    if isinstance(required, list) and (
        names := list(dict.fromkeys(name for name in required if isinstance(name, str)))
    ):
        schema["required"] = names
    if "enum" in schema and (not isinstance(schema["enum"], list) or not schema["enum"]):
        del schema["enum"]
    return schema
