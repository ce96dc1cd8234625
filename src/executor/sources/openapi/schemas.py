"""Schemas of a document as JSON Schema 2020-12, with `$ref`s kept and their targets collected once per source."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from executor.model.tool import Schema, Skipped
from executor.sources.openapi.document import Document, UnresolvedRef, key_text

MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SINGLES = frozenset(
    {
        "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
        "unevaluatedProperties", "unevaluatedItems", "additionalItems",
    }
)  # fmt: skip
DROPPED = frozenset(
    {
        "example", "examples", "xml", "externalDocs", "discriminator", "$schema", "$id", "id", "$anchor",
        "$dynamicRef", "$dynamicAnchor", "$comment", "$vocabulary", "nullable",
    }
)  # fmt: skip
TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
MAX_DEPTH = 64
INT64 = 2**63


class Schemas:
    """Converts on demand. `definitions` holds every definition that a converted schema reaches, by its own name."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.definitions: dict[str, Schema] = {}
        self.problems: dict[str, Skipped] = {}
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}
        self._shared = False
        self._pending: list[tuple[str, str]] = []

    def convert(self, raw: Any) -> Schema:
        """Anything that is no schema at all accepts everything: a sloppy document must not block a correct call."""
        schema = self._schema(raw, 0)
        self._shared = True
        try:
            while self._pending:
                name, ref = self._pending.pop()
                self.definitions[name] = self._definition(ref)
        finally:
            self._shared = False
        return schema if isinstance(schema, dict) else ({} if schema else {"not": {}})

    def _definition(self, ref: str) -> Schema:
        try:
            target = self.document.resolve(ref)
        except UnresolvedRef as error:
            self.problems.setdefault(ref, Skipped(ref[:200], f"{error}; any value is accepted there"))
            return {}
        schema = self._schema(target, 0)
        return schema if isinstance(schema, dict) else ({} if schema else {"not": {}})

    def _name(self, ref: str) -> str:
        name = self._names.get(ref)
        if name is None:
            last = unquote(ref.rsplit("/", 1)[-1]).replace("~1", "_").replace("~0", "_")
            name = base = re.sub(r"[^A-Za-z0-9_]+", "_", last).strip("_")[:80] or "Type"
            count = self._counts.get(base, 1)
            while name in self._taken:
                count += 1
                name = f"{base}_{count}"
            self._counts[base] = count
            self._names[ref] = name
            self._taken.add(name)
            self._pending.append((name, ref))
        return name

    def _schema(self, raw: Any, depth: int) -> Schema | bool:
        self.document.visits.spend(shared=self._shared)
        if isinstance(raw, bool):
            return raw
        if not isinstance(raw, dict) or depth > MAX_DEPTH:
            return {}
        ref = raw.get("$ref")
        if isinstance(ref, str):
            pointer: Schema = {"$ref": f"#/$defs/{self._name(ref)}"}
            if isinstance(raw.get("description"), str):
                pointer["description"] = raw["description"]
            return pointer
        schema: Schema = {}
        for key, value in raw.items():
            self._keyword(schema, key_text(key), value, depth + 1)
        return tidy(schema, raw)

    def _keyword(self, schema: Schema, key: str, value: Any, depth: int) -> None:
        if key in DROPPED or key.startswith("x-"):
            return
        if key in MAPS:
            if isinstance(value, dict):
                schema[key] = {key_text(name): self._schema(part, depth) for name, part in value.items()}
        elif key in LISTS:
            if isinstance(value, list) and value:
                schema[key] = [self._schema(part, depth) for part in value]
        elif key in SINGLES:
            if isinstance(value, dict | bool):
                schema[key] = self._schema(value, depth)
        else:
            schema[key] = plain(value)


def tidy(schema: Schema, raw: Schema) -> Schema:
    """OpenAPI 3.0's own dialect, and the slips that occur in real documents, made valid 2020-12."""
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        flag = schema.get(exclusive)
        if isinstance(flag, bool):
            del schema[exclusive]
            if flag and bound in schema:
                schema[exclusive] = schema.pop(bound)
    types = schema.get("type")
    if types is not None:
        known = [
            one for one in (types if isinstance(types, list) else [types]) if isinstance(one, str) and one in TYPES
        ]
        if types == "file":
            schema.update(type="string", format="binary")
        elif not known:
            del schema["type"]
        elif isinstance(types, list):
            schema["type"] = list(dict.fromkeys(known))
    tidy_required(schema)
    if not isinstance(schema.get("enum", []), list) or schema.get("enum") == []:
        del schema["enum"]
    return with_null(schema) if raw.get("nullable") is True else schema


def tidy_required(schema: Schema) -> None:
    """A read-only property is required of answers only, so that it can't be demanded where definitions are shared."""
    if "required" not in schema:
        return
    wanted, properties = schema.pop("required"), schema.get("properties", {})
    if isinstance(wanted, list):
        names = [name for name in dict.fromkeys(map(key_text, wanted)) if not read_only(properties.get(name))]
        if names:
            schema["required"] = names


def read_only(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("readOnly") is True


def with_null(schema: Schema) -> Schema:
    types = schema.get("type")
    if isinstance(types, str):
        schema["type"] = [types, "null"]
    elif types is None and set(schema) - {"description", "title", "default"}:
        return {"anyOf": [schema, {"type": "null"}]}
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return schema


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON can hold it: YAML also has sets, dates, tuples, infinities and integers of any size."""
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -INT64 <= value < 2 * INT64 else float(value) if abs(value) < 10**300 else None
    if isinstance(value, float):
        return value if value - value == 0 else None
    if depth > MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return {key_text(key): plain(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part, depth + 1) for part in value]
    return str(value)
