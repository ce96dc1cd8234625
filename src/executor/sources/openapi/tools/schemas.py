"""Schemas of a document as JSON Schema 2020-12, with `$ref`s kept and their targets collected once per source."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import orjson

from executor.model.tool import Schema, Skipped
from executor.schemas.keywords import LISTS, MAPS, MAX_DEPTH, SINGLES, TYPES, key_text, plain
from executor.schemas.references import PREFIX
from executor.sources.openapi.documents.document import Document, UnresolvedRef, beside
from executor.sources.openapi.tools.composition import (
    COMPOSING,
    Declared,
    declared_properties,
    is_answered,
    is_composed,
    only_requires,
)

DROPPED = frozenset(
    {
        "example", "examples", "xml", "externalDocs", "discriminator", "$schema", "$id", "id", "$anchor",
        "$dynamicRef", "$dynamicAnchor", "$comment", "$vocabulary", "nullable",
    }
)  # fmt: skip
MAP, LIST, SINGLE, DROP = "map", "list", "single", "drop"
KEYWORDS = {
    **dict.fromkeys(MAPS, MAP),
    **dict.fromkeys(LISTS, LIST),
    **dict.fromkeys(SINGLES, SINGLE),
    **dict.fromkeys(DROPPED, DROP),
    "$ref": DROP,  # one that is text never gets this far
}


Outer = tuple[Schema, ...]


class Schemas:
    """Converts on demand. `definitions` holds every definition that a converted schema reaches, by its own name."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.definitions: dict[str, Schema] = {}
        self.problems: dict[str, Skipped] = {}
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}
        # Definitions that others inherit from, found since the last conversion.
        self._opened: set[str] = set()
        self._pending: list[tuple[str, str]] = []
        # By identity, kept with its origin so that no other object can take its place, and how large it is:
        # every tool that uses it is stored with a copy.
        self._converted: dict[int, tuple[Any, Schema, int]] = {}

    def convert(self, raw: Any) -> Schema:
        """Anything that is no schema at all accepts everything: a sloppy document must not block a correct call."""
        known = self._converted.get(id(raw))
        if known is not None:
            self.document.visits.spend(known[2])
            return known[1]
        before = self.document.visits.spent
        schema = self._schema(raw, 0)
        size = self.document.visits.spent - before
        if self._pending:
            with self.document.visits.share_steps():
                while self._pending:
                    name, ref = self._pending.pop()
                    self.definitions[name] = self._definition(ref)
        while self._opened:  # all they name were converted just now or before
            open_up(self.definitions.get(self._opened.pop(), {}))
        converted = schema if isinstance(schema, dict) else ({} if schema else {"not": {}})
        if isinstance(raw, dict):
            self._converted[id(raw)] = (raw, converted, size)
        return converted

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

    def _schema(self, raw: Any, depth: int, outer: Outer = ()) -> Schema | bool:
        """`outer` are the schemas that this one is a part of: they speak of the same value."""
        self.document.visits.spend()
        if isinstance(raw, bool):
            return raw
        if not isinstance(raw, dict) or depth > MAX_DEPTH:
            return {}
        ref = raw.get("$ref")
        if isinstance(ref, str):
            pointer: Schema = {"$ref": f"{PREFIX}{self._name(ref)}"}
            return pointer if len(raw) == 1 else self._beside(pointer, raw, depth)
        schema: Schema = {}
        inner = depth + 1
        for key, value in raw.items():
            name = key if type(key) is str else key_text(key)
            how = KEYWORDS.get(name)
            if how is None:
                if not name.startswith("x-"):
                    schema[name] = value if type(value) is str else plain(value)
            elif how != DROP:
                self._add_nested(schema, name, how, value, inner, (*outer, raw) if name in COMPOSING else ())
        if "required" in schema:
            self._add_required(schema, raw, outer, depth)
        if "allOf" in schema:
            self._inherit(schema)
        if "oneOf" in schema and "anyOf" not in schema:
            # Choices overlap in most documents; a value that fits two of them is not wrong for the service.
            schema["anyOf"] = schema.pop("oneOf")
        return tidy(schema, raw)

    def _beside(self, pointer: Schema, raw: Schema, depth: int) -> Schema:
        """With what is beside the reference: from 3.1 on that counts; `nullable` is meant in older ones too."""
        parts = beside(raw) if self.document.has_siblings else {}
        if parts:
            more = self._schema(parts, depth + 1, ({"$ref": raw["$ref"]},))
            self._opened.add(pointer["$ref"][len(PREFIX) :])
            pointer = {"allOf": [pointer, more]}
        if raw.get("nullable") is True:
            pointer = {"anyOf": [pointer, {"type": "null"}]}
        if isinstance(raw.get("description"), str):
            pointer["description"] = raw["description"]
        return pointer

    def _inherit(self, schema: Schema) -> None:
        """Documents use `allOf` to inherit: a part that allows nothing but its own would refuse what the others add."""
        for part in schema["allOf"]:
            if isinstance(part, dict) and "$ref" in part:
                self._opened.add(part["$ref"][len(PREFIX) :])
            elif isinstance(part, dict):
                open_up(part)
        if schema.get("additionalProperties") is False:
            del schema["additionalProperties"]
            schema["unevaluatedProperties"] = False

    def _add_required(self, schema: Schema, raw: Schema, outer: Outer, depth: int) -> None:
        """A read-only property is required of answers only, so that it can't be demanded where definitions are shared.

        One that is required but not allowed at all would make every value wrong: then others are allowed too. One
        that is declared in another part is repeated here, since types show it as required only where it is declared.
        """
        wanted, properties = schema.pop("required"), raw.get("properties") or {}
        if not isinstance(wanted, list):
            return
        own = schema.get("properties", {})
        named = list(dict.fromkeys(map(key_text, wanted)))
        if outer or is_composed(raw) or not own.keys() >= set(named):
            known = self._declared_properties(raw, outer)
        else:
            known = {name: (properties[name],) for name in named if name in properties}
        meant = bool(outer) and only_requires(raw)
        names = [name for name in named if meant or not is_answered(self.document, known.get(name, ()))]
        if names:
            schema["required"] = names
        elsewhere = [name for name in names if name not in own]
        if not elsewhere:
            return
        if schema.get("additionalProperties") is False and "patternProperties" not in schema:
            del schema["additionalProperties"]
        if schema.get("type", "object") == "object" and not schema.keys() & {
            "additionalProperties",
            "patternProperties",
        }:
            found = {name: self._schema(known[name][0], depth + 1) if name in known else {} for name in elsewhere}
            schema["properties"] = {**own, **found}

    def _declared_properties(self, raw: Schema, outer: Outer) -> Declared:
        found: Declared = {}
        for one in (raw, *outer):
            for name, schemas in declared_properties(self.document, one).items():
                found[name] = (*found.get(name, ()), *schemas)
        return found

    def _add_nested(self, schema: Schema, name: str, how: str, value: Any, depth: int, outer: Outer) -> None:
        if how == MAP:
            if isinstance(value, dict):
                schema[name] = {
                    key if type(key) is str else key_text(key): self._schema(part, depth) for key, part in value.items()
                }
        elif how == LIST:
            if isinstance(value, list) and value:
                schema[name] = [self._schema(part, depth, outer) for part in value]
        elif isinstance(value, dict | bool):
            schema[name] = self._schema(value, depth)


def open_up(schema: Schema) -> None:
    for word in ("additionalProperties", "unevaluatedProperties"):
        if schema.get(word) is False:
            del schema[word]


def tidy(schema: Schema, raw: Schema) -> Schema:
    """OpenAPI 3.0's own dialect, and the slips that occur in real documents, made valid 2020-12."""
    types = schema.get("type")
    if types is not None and not (type(types) is str and types in TYPES):
        tidy_type(schema, types)
    for exclusive, bound in EXCLUSIVE:
        is_flag = exclusive in schema and isinstance(schema[exclusive], bool)
        if is_flag and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    if "enum" in schema:
        tidy_enum(schema)
    if "pattern" in schema:
        tidy_pattern(schema)
    for low, high in BOUNDS:
        if high in schema and low in schema and is_above(schema[low], schema[high]):
            del schema[low], schema[high]
    if raw.get("nullable") is True or raw.get("x-nullable") is True:
        return with_null(schema)
    return schema


EXCLUSIVE = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))
# Where the first is above the second, no value at all would do, and that can't be meant.
BOUNDS = (("minLength", "maxLength"), ("minimum", "maximum"), ("minItems", "maxItems"))
_LITERAL = re.compile(r"/(\^.*\$)/[a-z]*\Z", re.DOTALL)


def tidy_pattern(schema: Schema) -> None:
    """Some write an expression as a literal of JavaScript, slashes included, which no text would fit."""
    match = _LITERAL.match(schema["pattern"]) if isinstance(schema["pattern"], str) else None
    if match is not None:
        schema["pattern"] = match[1]


def is_above(low: Any, high: Any) -> bool:
    return isinstance(low, int | float) and isinstance(high, int | float) and low > high


def tidy_type(schema: Schema, types: Any) -> None:
    named = [
        TYPE_SLIPS.get(one, one) for one in (types if isinstance(types, list) else [types]) if isinstance(one, str)
    ]
    known = [one for one in dict.fromkeys(named) if one in TYPES]
    if types == "file":
        schema.update(type="string", format="binary")
    elif not known:
        del schema["type"]
    else:
        schema["type"] = known if isinstance(types, list) else known[0]


TYPE_SLIPS = {
    "String": "string", "int": "integer", "Integer": "integer", "float": "number", "double": "number",
    "long": "integer",
    "bool": "boolean", "Boolean": "boolean", "Object": "object", "Array": "array", "list": "array",
    "date": "string", "datetime": "string", "date-time": "string", "uuid": "string", "Number": "number",
}  # fmt: skip


def tidy_enum(schema: Schema) -> None:
    """Values that contradict their own type are read as what they were meant to be: YAML reads numbers in `[1, 2]`."""
    values, types = schema["enum"], schema.get("type")
    if not isinstance(values, list) or not values:
        del schema["enum"]
    elif types == "string":
        schema["enum"] = [one if isinstance(one, str) or one is None else scalar_text(one) for one in values]
    elif types in ("integer", "number", "boolean") and all(isinstance(one, str) for one in values):
        schema["enum"] = read = [as_json(one) for one in values]
        if not any(fits_type(one, types) for one in read):
            del schema["type"]
            schema["enum"] = values
    elif types == "array" and not any(isinstance(one, list) for one in values):
        del schema["enum"]
        items = schema.get("items")
        if isinstance(items, dict) and "enum" not in items and "$ref" not in items:
            items["enum"] = values
            tidy_enum(items)


def scalar_text(value: Any) -> str:
    return key_text(value) if isinstance(value, bool | int | float) else orjson.dumps(value).decode()


def as_json(text: str) -> Any:
    try:
        return orjson.loads(text.strip().lower())
    except orjson.JSONDecodeError:
        return text


def fits_type(value: Any, type: str) -> bool:
    if type == "boolean":
        return isinstance(value, bool)
    return isinstance(value, int | float) and not isinstance(value, bool)


def with_null(schema: Schema) -> Schema:
    types = schema.get("type")
    if isinstance(types, str):
        schema["type"] = [types, "null"]
    elif types is None and set(schema) - {"description", "title", "default"}:
        return {"anyOf": [schema, {"type": "null"}]}
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return schema
