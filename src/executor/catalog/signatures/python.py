"""`async def name(*, …) -> …`, valid Python."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Mapping
from typing import Any, ClassVar

from executor.catalog.declarations.python_types import is_word
from executor.catalog.signatures.arguments import MAX_SUMMARY, Call, Part, fitting, is_composed, shown_arguments
from executor.catalog.signatures.escape import comment
from executor.catalog.signatures.type_names import pascal
from executor.catalog.signatures.typescript import MAX_CHOICES, MAX_DEPTH, MAX_ENUM, MAX_LITERAL, Types, scalar_name
from executor.model.tool import Schema, Tool
from executor.schemas.merge import merge_schemas
from executor.schemas.references import PREFIX
from executor.schemas.shapes.arguments import required_of

# JSON Schema as compact Python types: each object a TypedDict with a name.
TAKEN = frozenset({*keyword.kwlist, *dir(builtins), "Any", "Literal", "Never", "NotRequired", "TypedDict"})
MAX_PARTS = 200
MAX_COMPARED = 50


class PythonTypes(Types):
    ANYTHING: ClassVar[str] = "Any"
    NOTHING: ClassVar[str] = "Never"
    OBJECT: ClassVar[str] = "dict"
    PRIMITIVES: ClassVar[Mapping[str, str]] = {
        "string": "str",
        "integer": "int",
        "number": "float",
        "boolean": "bool",
        "null": "None",
    }
    TAKEN: ClassVar[frozenset[str]] = TAKEN

    def __init__(self, definitions: Any, *, notes: bool = True) -> None:
        super().__init__(definitions, notes=notes)
        self.definitions = self._own = dict(definitions)
        self._unnamed: list[str] = []
        self._left = MAX_PARTS
        self._hint = ""

    def declare(self, definition: str) -> str:
        """A class where all names of fields can be written as one."""
        schema = self.definitions.get(definition, {})
        name = self._hint = self.name(definition)
        whole = self._whole(schema)
        properties = whole.get("properties") if whole is not None else None
        if whole is None or not isinstance(properties, dict) or not properties:
            return f"{name} = {self._alias(schema)}"
        required = set(required_of(whole))
        order = sorted(properties, key=lambda one: one not in required)
        fields = [self.field(one, properties[one], one in required, 0) for one in order]
        if all(is_word(one) and not one.startswith("__") for one in properties):
            lines = [f"    {written}{f'  # {note}' if note else ''}" for written, note in fields]
            return "\n".join([f"class {name}(TypedDict):", *lines])
        types = [self._entry(one, properties[one], one in required, 0) for one in order]
        inner = ", ".join(f"{one!a}: {type}" for one, type in zip(order, types, strict=True))
        return f'{name} = TypedDict("{name}", {{{inner}}})'

    def object_type(self, schema: Schema, depth: int) -> str:
        properties = schema.get("properties")
        if not isinstance(properties, dict) or not properties or depth > MAX_DEPTH:
            more = schema.get("additionalProperties")
            return self._record(self.render(more, depth + 1)) if isinstance(more, dict) else self.OBJECT
        return self._name_object(schema)

    def field(self, name: str, schema: Any, required: bool, depth: int) -> tuple[str, str]:
        return f"{name}: {self._entry(name, schema, required, depth)}", self.note(schema, depth)

    def parameter(self, name: str, schema: Any, required: bool) -> tuple[str, str]:
        self._hint = self._hint or "Argument"
        return f"{name}: {self._inside(name, schema, 0)}{'' if required else ' = ...'},", self.note(schema)

    def starting(self, hint: str) -> None:
        """What objects without a name of their own are called after."""
        self._hint = pascal(hint)

    def whole(self, schema: Schema, name: str) -> str:
        """All arguments as one dict."""
        self._hint = name
        return self.render({"type": "object", **schema})

    def _entry(self, name: str, schema: Any, required: bool, depth: int) -> str:
        written = self._inside(name, schema, depth)
        return written if required else f"NotRequired[{written}]"

    def _inside(self, name: str, schema: Any, depth: int) -> str:
        before = self._hint
        self._hint = f"{before[:40]}{pascal(name)[:20]}"
        written = self.render(schema, depth + 1)
        self._hint = before
        return written

    def _reference(self, definition: str, depth: int) -> str:
        """A TypedDict is never None, whatever its schema says: that is said where it is used."""
        written = super()._reference(definition, depth)
        target = self.definitions.get(definition, {})
        types = target.get("type") if "properties" in target else None
        return f"{written} | None" if isinstance(types, list) and "null" in types else written

    def _name_object(self, schema: Schema) -> str:
        """An object without a name gets one, and is written like the others. Equal ones are one."""
        key = next((key for key in self._unnamed[-MAX_COMPARED:] if self._own[key] == schema), "")
        if not key:
            key = f"\0{len(self._unnamed)}"  # no definition has such a name
            self._unnamed.append(key)
            self._own[key] = schema
            self._names.of(key, self._hint or "Object")
        return self.name(key)

    def _alias(self, schema: Schema) -> str:
        return ascii(self.render(schema)) if schema else self.ANYTHING

    def _with_fields(self, schema: Schema, word: str, choices: str, depth: int) -> str:
        return choices  # Python can't say `&`

    def _all(self, schema: Schema, parts: list[Any], depth: int) -> str:
        """Python can't say `&`: what is put together becomes one."""
        whole = self._whole(schema)
        if whole is not None and whole.get("properties"):
            return self._name_object(whole) if depth <= MAX_DEPTH else self.OBJECT
        shown = [one for one in (self.render(part, depth + 1) for part in parts[:MAX_CHOICES]) if one != self.ANYTHING]
        return shown[0] if shown else self.ANYTHING

    def _any(self, parts: list[Any], depth: int) -> str:
        shown = list(dict.fromkeys(self.render(part, depth + 1) for part in parts[:MAX_CHOICES]))
        return " | ".join([*shown, self.ANYTHING] if len(parts) > MAX_CHOICES else shown)

    def _whole(self, schema: Any, depth: int = 0) -> Schema | None:
        """An object with everything that its `allOf` puts together; None if it is not only that, or of too much."""
        self._left = MAX_PARTS if depth == 0 else self._left - 1
        if not isinstance(schema, dict) or self._left < 0 or "oneOf" in schema or "anyOf" in schema:
            return None
        parts = schema.get("allOf")
        made: Schema = {word: part for word, part in schema.items() if word not in ("allOf", "$ref")}
        ref = schema.get("$ref")
        others = [self.definitions.get(ref[len(PREFIX) :])] if isinstance(ref, str) and ref.startswith(PREFIX) else []
        for part in [*others, *(parts if isinstance(parts, list) else ())]:
            inner = self._whole(part, depth + 1)
            if inner is not None:
                made = merge_schemas(made, inner)
        return made

    def _values(self, values: list[Any]) -> str:
        plain = [
            one for one in values[:MAX_ENUM] if isinstance(one, str | int | bool) and len(ascii(one)) <= MAX_LITERAL
        ]
        others = dict.fromkeys(self._kind(one) for one in values if one not in plain)
        listed = [f"Literal[{', '.join(dict.fromkeys(ascii(one) for one in plain))}]"] if plain else []
        return " | ".join([*listed, *others])

    def note(self, schema: Any, depth: int = 0) -> str:
        """With the name that the source has for the type: no comment can stand inside of one."""
        inner = schema
        while isinstance(inner, dict) and isinstance(inner.get("items"), dict):
            inner = inner["items"]
        called, text = scalar_name(inner), super().note(schema, depth)
        return f"({called}) {text}".rstrip() if called and self._notes and depth <= 1 else text

    def _scalar(self, written: str, schema: Schema) -> str:
        return written

    def _list(self, inner: str) -> str:
        return f"list[{inner}]"

    def _record(self, inner: str) -> str:
        return f"dict[str, {inner}]"


def call(tool: Tool, types: Types, budget: int, part: Part = "") -> Call:
    last = tool.path.rpartition(".")[2]
    if isinstance(types, PythonTypes):
        types.starting(last)
    given, left = ("**arguments: Any", 0) if part == "result" else parameters(tool, types, budget)
    before = len(types.waiting)
    result = "Any" if tool.output_schema is None or part == "arguments" else types.render(tool.output_schema)
    is_large = len(result) > budget
    if is_large:
        result = "dict"
        del types.waiting[before:]
    note = comment(tool.description, MAX_SUMMARY).replace("\\", "/").replace('"', "'")
    about = f'    """{note}{" (deprecated)" if tool.deprecated else ""}"""'
    name = last if is_word(last) else "call"
    return Call(f"# await tools.{tool.path}(…)\nasync def {name}({given}) -> {result}:\n{about}", left, is_large)


def parameters(tool: Tool, types: Types, budget: int) -> tuple[str, int]:
    """Keywords; or one dict, where a name can't be written as a keyword."""
    properties, required = shown_arguments(tool, types.definitions)
    if not isinstance(types, PythonTypes) or (not properties and not is_composed(tool)):
        return "", 0
    if not properties or not all(is_word(name) and not name.startswith("__") for name in properties):
        schema = {**tool.input_schema, "properties": properties} if properties else tool.input_schema
        return f"args: {types.whole(schema, pascal(tool.path.rpartition('.')[2]) + 'Arguments')}", 0
    fields = [types.parameter(name, part, name in required) for name, part in properties.items()]
    fitted, left = fitting(fields, len(required), budget)
    if not any(note for _, note in fitted) and not left and sum(len(one) for one, _ in fitted) <= 90:
        return ", ".join(["*", *(written.rstrip(",") for written, _ in fitted)]), 0
    lines = [f"    {written}{f'  # {note}' if note else ''}" for written, note in fitted]
    lines += [f"    # {left} more"] if left else []
    return "\n".join(["", "    *,", *lines, ""]), left
