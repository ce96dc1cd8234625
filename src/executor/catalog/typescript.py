"""JSON Schema as compact TypeScript types: shared types once by name, bounded in depth and size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from executor.catalog.text import comment, key, literal
from executor.model.tool import Schema
from executor.sources.references import PREFIX

PRIMITIVES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
# Names that already mean something in TypeScript.
BUILT_IN = frozenset(
    {
        "Promise", "Record", "Array", "Object", "String", "Number", "Boolean", "Date", "Map", "Set", "Error",
        "Function", "Symbol", "Partial", "Required", "Pick", "Omit", "Tools",
    }
)  # fmt: skip
MAX_DEPTH = 3
MAX_CHAIN = 40
MAX_ENUM = 12
MAX_CHOICES = 8
MAX_NOTE = 60
MAX_LITERAL = 80


class Types:
    """Renders schemas; `waiting` lists the named types that were used but not yet written."""

    def __init__(self, definitions: Mapping[str, Schema], *, notes: bool = True) -> None:
        self.definitions = definitions
        self.waiting: list[str] = []
        self._notes = notes
        self._names: dict[str, str] = {}

    def render(self, schema: Any, depth: int = 0) -> str:
        if schema is False:
            return "never"
        if not isinstance(schema, dict) or not schema:
            return "unknown"
        ref = schema.get("$ref")
        if isinstance(ref, str) and ref.startswith(PREFIX):
            return self._reference(ref[len(PREFIX) :], depth)
        if "const" in schema:
            return self._literal(schema["const"])
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return self._enum(schema["enum"])
        return self._combined(schema, depth)

    def name(self, definition: str) -> str:
        """A type's name: capitalized, of ASCII letters, unique among those used here."""
        if definition not in self._names:
            words = re.sub(r"[^A-Za-z0-9]+", " ", definition).split()
            base = "".join(word[:1].upper() + word[1:] for word in words)[:60] or "Type"
            base = f"T{base}" if base[0].isdigit() or base in BUILT_IN else base
            name, count = base, 1
            while name in self._names.values():
                count += 1
                name = f"{base}{count}"
            self._names[definition] = name
            self.waiting.append(definition)
        return self._names[definition]

    def _reference(self, definition: str, depth: int) -> str:
        target = self.definitions.get(definition, {})
        is_named = any(word in target for word in ("properties", "allOf", "anyOf", "oneOf", "enum", "$ref", "items"))
        if depth > MAX_CHAIN:
            return "unknown"
        if not is_named:
            return self.render({word: part for word, part in target.items() if word != "$ref"}, depth + 1)
        return self.name(definition)

    def _literal(self, value: Any) -> str:
        if isinstance(value, dict | list):
            return "unknown"
        written = literal(value)
        return written if len(written) <= MAX_LITERAL else "string"

    def _enum(self, values: list[Any]) -> str:
        shown = list(dict.fromkeys(self._literal(value) for value in values[:MAX_ENUM]))
        more = len(values) - MAX_ENUM
        return " | ".join([*shown, f"string /* or {more} more */"] if more > 0 else shown)

    def _combined(self, schema: Schema, depth: int) -> str:
        for word, joint in (("oneOf", " | "), ("anyOf", " | "), ("allOf", " & ")):
            parts = schema.get(word)
            if isinstance(parts, list) and parts:
                shown = [self.render(part, depth + 1) for part in parts[:MAX_CHOICES]]
                if schema.get("properties"):
                    shown = [self.object_type(schema, depth), *shown] if joint == " & " else shown
                shown = [one for one in dict.fromkeys(shown) if one != "unknown" or joint == " | "]
                if len(parts) > MAX_CHOICES:
                    shown.append("unknown")
                return joint.join(grouped(one, joint) for one in shown) if shown else "unknown"
        types = schema.get("type")
        if isinstance(types, list):
            each = [self._typed({**schema, "type": one}, one, depth) for one in types]
            return " | ".join(dict.fromkeys(each)) or "unknown"
        return self._typed(schema, types, depth)

    def _typed(self, schema: Schema, type: Any, depth: int) -> str:
        if type == "array" or (type is None and "items" in schema):
            inner = self.render(schema.get("items"), depth + 1)
            return f"({inner})[]" if " " in inner and not inner.startswith("{") else f"{inner}[]"
        if type == "object" or (type is None and "properties" in schema):
            return self.object_type(schema, depth)
        return PRIMITIVES.get(type, "unknown") if isinstance(type, str) else "unknown"

    def object_type(self, schema: Schema, depth: int) -> str:
        properties = schema.get("properties")
        if not isinstance(properties, dict) or not properties:
            more = schema.get("additionalProperties")
            inner = self.render(more, depth + 1) if isinstance(more, dict) else "unknown"
            return f"Record<string, {inner}>"
        if depth > MAX_DEPTH:
            return "object"
        required = {name for name in schema.get("required", []) if isinstance(name, str)}
        order = sorted(properties, key=lambda name: name not in required)
        fields = [self.field(name, properties[name], name in required, depth) for name in order]
        return braced(fields, depth)

    def field(self, name: str, schema: Any, required: bool, depth: int) -> tuple[str, str]:
        """(`name?: type;`, note)"""
        written = f"{key(name)}{'' if required else '?'}: {self.render(schema, depth + 1)};"
        text = schema.get("description") if isinstance(schema, dict) and self._notes and depth <= 1 else None
        return written, comment(text, MAX_NOTE) if isinstance(text, str) else ""


def braced(fields: list[tuple[str, str]], depth: int) -> str:
    """On one line if it is short and has no notes."""
    flat = " ".join(written for written, _ in fields)
    if len(flat) <= 100 and not any(note for _, note in fields) and "\n" not in flat:
        return f"{{ {flat} }}"
    indent = "  " * (depth + 1)
    lines = [f"{indent}{written}{f' // {note}' if note else ''}" for written, note in fields]
    return "{\n" + "\n".join(lines) + "\n" + "  " * depth + "}"


def grouped(written: str, joint: str) -> str:
    other = " | " if joint == " & " else " & "
    return f"({written})" if other in written and not written.startswith("{") else written
