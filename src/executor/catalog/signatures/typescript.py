"""`tools.path(args: …): Promise<…>`"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from executor.catalog.signatures.arguments import MAX_SUMMARY, Call, Part, fitting, is_composed, shown_arguments
from executor.catalog.signatures.escape import comment, key, literal
from executor.catalog.signatures.type_names import Names, pascal
from executor.model.tool import SCALAR, Schema, Tool
from executor.schemas.references import PREFIX
from executor.schemas.shapes.arguments import required_of

# JSON Schema as compact TypeScript types: shared types once by name, bounded in depth and size.
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
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")


class Types:
    """Renders schemas; `waiting` lists the named types that were used but not yet written."""

    ANYTHING: ClassVar[str] = "unknown"
    NOTHING: ClassVar[str] = "never"
    OBJECT: ClassVar[str] = "object"
    PRIMITIVES: ClassVar[Mapping[str, str]] = PRIMITIVES
    TAKEN: ClassVar[frozenset[str]] = BUILT_IN

    def __init__(self, definitions: Mapping[str, Schema], *, notes: bool = True) -> None:
        self.definitions = definitions
        self.waiting: list[str] = []
        self._notes = notes
        self._names = Names(self.TAKEN)
        self._known: set[str] = set()

    def render(self, schema: Any, depth: int = 0) -> str:
        if schema is False:
            return self.NOTHING
        if not isinstance(schema, dict) or not schema:
            return self.ANYTHING
        ref = schema.get("$ref")
        if isinstance(ref, str) and ref.startswith(PREFIX):
            return self._reference(ref[len(PREFIX) :], depth)
        if "const" in schema:
            return self._values([schema["const"]])
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return self._values(schema["enum"])
        return self._write_combined(schema, depth)

    def declare(self, definition: str) -> str:
        """A named type, written out."""
        return f"type {self.name(definition)} = {self.render(self.definitions.get(definition, {}))};"

    def name(self, definition: str) -> str:
        """A type's name: capitalized, of ASCII letters, unique among those used here."""
        if definition not in self._known:
            self._known.add(definition)
            self.waiting.append(definition)
        return self._names.of(definition, pascal(definition))

    @property
    def used_names(self) -> frozenset[str]:
        """The named types that were used so far."""
        return frozenset(self._known)

    @used_names.setter
    def used_names(self, names: frozenset[str]) -> None:
        self._known = set(names)

    def _reference(self, definition: str, depth: int) -> str:
        target = self.definitions.get(definition, {})
        is_named = any(word in target for word in ("properties", "allOf", "anyOf", "oneOf", "enum", "$ref", "items"))
        if depth > MAX_CHAIN:
            return self.ANYTHING
        if not is_named:
            return self.render({word: part for word, part in target.items() if word != "$ref"}, depth + 1)
        return self.name(definition)

    def _values(self, values: list[Any]) -> str:
        shown = list(dict.fromkeys(self._literal(value) for value in values[:MAX_ENUM]))
        more = len(values) - MAX_ENUM
        kinds = dict.fromkeys(self._kind(value) for value in values[MAX_ENUM:])
        return " | ".join([*shown, f"{' | '.join(kinds)} /* or {more} more */"] if more > 0 else shown)

    def _literal(self, value: Any) -> str:
        written = literal(value) if not isinstance(value, dict | list) else ""
        return written if 0 < len(written) <= MAX_LITERAL else self._kind(value)

    def _kind(self, value: Any) -> str:
        if isinstance(value, dict | list):
            return self.ANYTHING
        number = isinstance(value, int | float) and not isinstance(value, bool)
        kind = "number" if number else {bool: "boolean", type(None): "null"}.get(type(value), "string")
        return self.PRIMITIVES[kind]

    def _write_combined(self, schema: Schema, depth: int) -> str:
        for word in ("oneOf", "anyOf", "allOf"):
            parts = schema.get(word)
            if isinstance(parts, list) and parts:
                if word == "allOf":
                    return self._all(schema, parts, depth)
                return self._with_fields(schema, word, self._any(parts, depth), depth)
        types = schema.get("type")
        if isinstance(types, list):
            each = [self._scalar(self._write_type({**schema, "type": one}, one, depth), schema) for one in types]
            return " | ".join(dict.fromkeys(each)) or self.ANYTHING
        return self._scalar(self._write_type(schema, types, depth), schema)

    def _any(self, parts: list[Any], depth: int) -> str:
        shown = list(dict.fromkeys(self.render(part, depth + 1) for part in parts[:MAX_CHOICES]))
        if len(parts) > MAX_CHOICES:
            shown.append(self.ANYTHING)
        return " | ".join(group_union(one, " | ") for one in shown)

    def _with_fields(self, schema: Schema, word: str, choices: str, depth: int) -> str:
        """What is beside the choices applies to each of them."""
        if not schema.get("properties"):
            return choices
        rest = self.render({other: part for other, part in schema.items() if other != word}, depth)
        return rest if choices == self.ANYTHING else f"{rest} & ({choices})"

    def _all(self, schema: Schema, parts: list[Any], depth: int) -> str:
        shown = [self.render(part, depth + 1) for part in parts[:MAX_CHOICES]]
        if schema.get("properties"):
            shown.insert(0, self.object_type(schema, depth))
        shown = [one for one in dict.fromkeys(shown) if one != self.ANYTHING]
        return " & ".join(group_union(one, " & ") for one in shown) if shown else self.ANYTHING

    def _write_type(self, schema: Schema, type: Any, depth: int) -> str:
        if type == "array" or (type is None and "items" in schema):
            return self._list(self.render(schema.get("items"), depth + 1))
        if type == "object" or (type is None and "properties" in schema):
            return self.object_type(schema, depth)
        return self.PRIMITIVES.get(type, self.ANYTHING) if isinstance(type, str) else self.ANYTHING

    def _scalar(self, written: str, schema: Schema) -> str:
        """With the name that the source has for it."""
        called = scalar_name(schema)
        return (
            f"{written} /* {called} */" if called and written in (self.PRIMITIVES["string"], self.ANYTHING) else written
        )

    def _list(self, inner: str) -> str:
        return f"({inner})[]" if " " in inner and not inner.startswith("{") else f"{inner}[]"

    def _record(self, inner: str) -> str:
        return f"Record<string, {inner}>"

    def object_type(self, schema: Schema, depth: int) -> str:
        properties = schema.get("properties")
        if not isinstance(properties, dict) or not properties:
            more = schema.get("additionalProperties")
            return self._record(self.render(more, depth + 1) if isinstance(more, dict) else self.ANYTHING)
        if depth > MAX_DEPTH:
            return self.OBJECT
        required = set(required_of(schema))
        order = sorted(properties, key=lambda name: name not in required)
        fields = [self.field(name, properties[name], name in required, depth) for name in order]
        return write_braces(fields, depth)

    def field(self, name: str, schema: Any, required: bool, depth: int) -> tuple[str, str]:
        """(`name?: type;`, note)"""
        written = f"{key(name)}{'' if required else '?'}: {self.render(schema, depth + 1)};"
        return written, self.note(schema, depth)

    def note(self, schema: Any, depth: int = 0) -> str:
        text = schema.get("description") if isinstance(schema, dict) and self._notes and depth <= 1 else None
        return comment(text, MAX_NOTE) if isinstance(text, str) else ""


def scalar_name(schema: Any) -> str:
    """Schemas come from anywhere, so that only a plain word counts."""
    called = schema.get(SCALAR) if isinstance(schema, dict) else None
    return called if isinstance(called, str) and _WORD.fullmatch(called) else ""


def write_braces(fields: list[tuple[str, str]], depth: int) -> str:
    """On one line if it is short and has no notes."""
    flat = " ".join(written for written, _ in fields)
    if len(flat) <= 100 and not any(note for _, note in fields) and "\n" not in flat:
        return f"{{ {flat} }}"
    indent = "  " * (depth + 1)
    lines = [f"{indent}{written}{f' // {note}' if note else ''}" for written, note in fields]
    return "{\n" + "\n".join(lines) + "\n" + "  " * depth + "}"


def group_union(written: str, joint: str) -> str:
    other = " | " if joint == " & " else " & "
    return f"({written})" if other in written and not written.startswith("{") else written


def call(tool: Tool, types: Types, budget: int, part: Part = "") -> Call:
    given, left = ("…", 0) if part == "result" else arguments(tool, types, budget)
    before = len(types.waiting)
    result = "unknown" if tool.output_schema is None or part == "arguments" else types.render(tool.output_schema)
    is_large = len(result) > budget
    if is_large:
        result = "object /* large */"
        del types.waiting[before:]
    note = f"/** {comment(tool.description, MAX_SUMMARY)}{' (deprecated)' if tool.deprecated else ''} */\n"
    return Call(f"{note}tools.{tool.path}({given}): Promise<{result}>", left, is_large)


def arguments(tool: Tool, types: Types, budget: int) -> tuple[str, int]:
    properties, required = shown_arguments(tool, types.definitions)
    if not properties:
        return (f"args: {types.render({'type': 'object', **tool.input_schema})}", 0) if is_composed(tool) else ("", 0)
    fields = [types.field(name, part, name in required, 0) for name, part in properties.items()]
    fitted, left = fitting(fields, len(required), budget)
    if left:
        fitted = [*fitted, (f"/* {left} more */", "")]
    return f"args{'' if required else '?'}: {write_braces(fitted, 0)}", left
