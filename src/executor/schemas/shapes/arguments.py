"""Schemas of arguments as shapes. The bound: what validation accepts, the shape accepts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from executor.model.tool import Schema
from executor.schemas.references import target_name
from executor.schemas.shapes.shape import (
    ANY_OBJECT,
    ANYTHING,
    Both,
    Either,
    Field,
    Fields,
    ListOf,
    Named,
    Never,
    OneOf,
    Scalar,
    ScalarKind,
    Shape,
    Table,
    both,
    either,
)

MAX_DEPTH = 40
MAX_VALUES = 500
MAX_LITERAL = 200
MAX_CHOICES = 60
SCALARS: dict[str, ScalarKind] = {"string": "string", "number": "number", "boolean": "boolean", "null": "null"}
TYPES = frozenset({*SCALARS, "object", "array"})
EXACT_NUMBERS = 2**53


class ArgumentShapes:
    """Reads schemas whose `$ref`s are names of `definitions`."""

    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self.definitions = definitions
        self._shapes: dict[str, Shape] = {}
        self._circular: dict[str, bool] = {}
        self._needless: dict[str, bool] = {}

    def definition(self, name: str) -> Shape:
        if name not in self._shapes:
            self._shapes[name] = self.read(self.definitions.get(name))
        return self._shapes[name]

    def needs_nothing(self, shape: Shape) -> bool:
        """Whether a call without arguments would do."""
        match shape:
            case Named(name):
                if name not in self._needless:
                    self._needless[name] = True  # for anyone who comes back here on the way
                    self._needless[name] = self.needs_nothing(self.definition(name))
                return self._needless[name]
            case Fields(fields):
                return not any(field.required for field in fields)
            case Either(parts):
                return any(self.needs_nothing(part) for part in parts)
            case Both(parts):
                return all(self.needs_nothing(part) for part in parts)
        return True

    def read(self, schema: Any, depth: int = 0, types: frozenset[str] = TYPES) -> Shape:
        """`types` are those that the schemas around this one leave possible."""
        if schema is False:
            return Never()
        if not isinstance(schema, dict) or depth > MAX_DEPTH:
            return ANYTHING
        types = types & types_of(schema)
        parts = [self._read_reference(schema, depth)] if "$ref" in schema else []
        values = values_of(schema)
        parts.append(self._read_types(schema, types, depth) if values is None else literals(values, types))
        for word in ("oneOf", "anyOf"):
            choices = schema.get(word)
            if isinstance(choices, list) and are_schemas(choices) and 0 < len(choices) <= MAX_CHOICES:
                parts.append(either(self.read(choice, depth + 1, types) for choice in choices))
        if are_schemas(schema.get("allOf")):
            parts += [self.read(part, depth + 1, types) for part in schema["allOf"][:MAX_CHOICES]]
        return both(parts)

    def _read_reference(self, schema: Schema, depth: int) -> Shape:
        name = target_name(schema)
        target = self.definitions.get(name)
        if not isinstance(target, dict) or self._is_circular(name):
            return ANYTHING
        return Named(name) if is_structured(target) else self.read(target, depth + 1)

    def _is_circular(self, name: str) -> bool:
        """Whether it is defined in terms of itself without a list or an object in between: no type can say that."""
        if name not in self._circular:
            seen: set[str] = set()
            stack = list(beside(self.definitions.get(name)))
            while stack:
                one = stack.pop()
                if one not in seen:
                    seen.add(one)
                    stack.extend(beside(self.definitions.get(one)))
            self._circular[name] = name in seen
        return self._circular[name]

    def _read_types(self, schema: Schema, types: frozenset[str], depth: int) -> Shape:
        """A schema without a type says nothing about values of the types that its words don't speak of."""
        structure: dict[str, Shape] = {}
        if "object" in types:
            structure["object"] = self._object(schema, depth)
        if "array" in types:
            structure["array"] = self._array(schema, depth)
        if types == TYPES and structure == {"object": ANY_OBJECT, "array": ListOf(ANYTHING)}:
            return ANYTHING
        is_time = schema.get("format") == "date-time"
        kinds = [kind for name, kind in SCALARS.items() if name in types]
        scalars = [Scalar("time" if kind == "string" and is_time else kind) for kind in kinds]
        return either([*structure.values(), *scalars]) if structure or scalars else Never()

    def _array(self, schema: Schema, depth: int) -> Shape:
        if "prefixItems" in schema or not isinstance(schema.get("items"), dict):
            return ListOf(ANYTHING)
        return ListOf(self.read(schema["items"], depth + 1))

    def _object(self, schema: Schema, depth: int) -> Shape:
        properties, more = schema.get("properties"), schema.get("additionalProperties")
        properties = properties if isinstance(properties, dict) else {}
        required = required_of(schema)
        fields = [Field(name, self.read(part, depth + 1), name in required) for name, part in properties.items()]
        patterned = bool(schema.get("patternProperties"))
        if not fields and not required and isinstance(more, dict) and not patterned:
            return Table(self.read(more, depth + 1))
        fields += [Field(name, ANYTHING, True) for name in required if name not in properties]
        return Fields(tuple(fields), open=more is not False or patterned)


def types_of(schema: Schema) -> frozenset[str]:
    """Validation drops a `type` that is not one (or not all of whose types are): then any will do."""
    types = schema.get("type")
    named = types if isinstance(types, list) else [types]
    known = frozenset("number" if one == "integer" else one for one in named if isinstance(one, str))
    is_valid = all(isinstance(one, str) for one in named) and len(set(named)) == len(named)
    return known if is_valid and known and known <= TYPES else TYPES


def values_of(schema: Schema) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) and values else None


def literals(values: list[Any], types: frozenset[str]) -> Shape:
    """Few and plain values are listed; else the kinds of value there are."""
    fitting = [value for value in values if type_of(value) in types]
    if not fitting:
        return Never()
    if len(fitting) <= MAX_VALUES and all(is_plain(value) for value in fitting):
        return OneOf(tuple(fitting))
    kinds = dict.fromkeys(type_of(value) for value in fitting)
    return either(
        Scalar(SCALARS[kind]) if kind in SCALARS else ANY_OBJECT if kind == "object" else ListOf(ANYTHING)
        for kind in kinds
    )


def is_plain(value: Any) -> bool:
    if isinstance(value, float) and not (math.isfinite(value) and value == int(value)):
        return False
    if isinstance(value, int | float) and not isinstance(value, bool):
        return abs(value) < EXACT_NUMBERS
    return value is None or isinstance(value, bool) or (isinstance(value, str) and len(value) <= MAX_LITERAL)


def type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return {str: "string", type(None): "null", list: "array"}.get(type(value), "object")


def required_of(schema: Schema) -> list[str]:
    names = schema.get("required")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return []
    return list(dict.fromkeys(names))


def are_schemas(parts: Any) -> bool:
    return isinstance(parts, list) and all(isinstance(part, dict | bool) for part in parts)


def is_structured(schema: Schema) -> bool:
    """Worth a name: anything that is not plainly one kind of scalar."""
    return any(
        word in schema for word in ("properties", "items", "additionalProperties", "allOf", "anyOf", "oneOf", "enum")
    )


def beside(schema: Any) -> Iterator[str]:
    """Names of definitions that are held against the same value as the schema."""
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if name := target_name(node):
                yield name
            for word in ("allOf", "anyOf", "oneOf"):
                parts = node.get(word)
                stack.extend(parts if isinstance(parts, list) else ())
