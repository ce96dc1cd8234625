"""Schemas of results as shapes, for completion without false alarms: services answer more loosely than they say.

Every object may have more fields, every listed field is there, null is not spoken of, and listed values are no limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from executor.model.tool import Schema
from executor.schemas.references import PREFIX
from executor.schemas.shapes.arguments import MAX_CHOICES, SCALARS, are_schemas, beside, is_structured, types_of
from executor.schemas.shapes.shape import (
    ANYTHING,
    Both,
    Either,
    Field,
    Fields,
    ListOf,
    Named,
    Scalar,
    Shape,
    Table,
    both,
    either,
)

MAX_DEPTH = 8


class ResultShapes:
    """Reads schemas whose `$ref`s are names of `definitions`."""

    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self.definitions = definitions
        self._shapes: dict[str, Shape] = {}

    def definition(self, name: str) -> Shape:
        if name not in self._shapes:
            self._shapes[name] = ANYTHING  # for anyone who comes back here on the way
            self._shapes[name] = self.read(self.definitions.get(name))
        return self._shapes[name]

    def read(self, schema: Any, depth: int = 0) -> Shape:
        if not isinstance(schema, dict) or depth > MAX_DEPTH or "enum" in schema or "const" in schema:
            return ANYTHING
        parts = [self._read_reference(schema["$ref"], depth)] if "$ref" in schema else []
        parts.append(self._read_types(schema, depth))
        for word in ("oneOf", "anyOf"):
            if are_schemas(schema.get(word)):
                parts.append(self._alternatives(schema[word], depth))
        if are_schemas(schema.get("allOf")):
            parts += [self.read(part, depth + 1) for part in schema["allOf"][:MAX_CHOICES]]
        return both(parts)

    def _read_reference(self, ref: Any, depth: int) -> Shape:
        name = ref[len(PREFIX) :] if isinstance(ref, str) and ref.startswith(PREFIX) else ""
        target = self.definitions.get(name)
        if not isinstance(target, dict) or name in set(beside(target)):
            return ANYTHING
        return Named(name) if is_structured(target) and "enum" not in target else self.read(target, depth + 1)

    def _alternatives(self, choices: list[Any], depth: int) -> Shape:
        """Only objects and lists can be one or the other: of a scalar and an object no field could be read."""
        given = [self.read(choice, depth + 1) for choice in choices if not is_null(choice)]
        if len(given) == 1 or (given and len(given) <= MAX_CHOICES and all(self._has_fields(one) for one in given)):
            return either(given)
        return ANYTHING

    def _has_fields(self, shape: Shape, steps: int = 4) -> bool:
        match shape:
            case Fields() | Table() | ListOf():
                return True
            case Named(name):
                return steps > 0 and self._has_fields(self.definition(name), steps - 1)
            case Either(parts) | Both(parts):
                return all(self._has_fields(part, steps) for part in parts)
        return False

    def _read_types(self, schema: Schema, depth: int) -> Shape:
        types = types_of(schema) - {"null"}
        if "properties" in schema and "object" in types:
            return self._object(schema, depth)
        if "items" in schema and "array" in types:
            return ListOf(self.read(schema["items"], depth + 1))
        if len(types) != 1:
            return ANYTHING
        (only,) = types
        if only == "object":
            return self._object(schema, depth)
        return ListOf(ANYTHING) if only == "array" else Scalar(SCALARS[only])

    def _object(self, schema: Schema, depth: int) -> Shape:
        properties, more = schema.get("properties"), schema.get("additionalProperties")
        if not isinstance(properties, dict) or not properties:
            return Table(self.read(more, depth + 1))
        fields = (Field(name, self.read(part, depth + 1), True) for name, part in properties.items())
        return Fields(tuple(fields), open=True)


def is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"
