"""How much work it is to hold a value against a schema, before it is done: alternatives of alternatives multiply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from executor.model.tool import Schema
from executor.schemas.references import PREFIX

# Steps of counting; a value that takes more is not understood in time.
MAX_PAIRS = 50_000
ENDLESS = 10**12
SAME_VALUE = ("allOf", "anyOf", "oneOf")
SAME_VALUE_ONE = ("not", "if", "then", "else", "propertyNames", "unevaluatedProperties", "unevaluatedItems")
# Without any of these, each part of a value is held against one schema at most.
BRANCHING = frozenset(
    {*SAME_VALUE, *SAME_VALUE_ONE, "$ref", "$dynamicRef", "contains", "patternProperties", "dependentSchemas"}
)


class ValidationCost:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._definitions = schema.get("$defs", {})
        self.is_plain = not may_branch(schema)

    def steps(self, value: Any) -> int:
        """How many times some schema is held against some part of the value, at most; ENDLESS if that is not clear."""
        known: dict[tuple[int, int], int] = {}
        try:
            return self._steps(self._schema, value, known)
        except (RecursionError, OverflowError):
            return ENDLESS

    def _steps(self, schema: Any, value: Any, known: dict[tuple[int, int], int]) -> int:
        if not isinstance(schema, dict):
            return 1
        key = (id(schema), id(value))
        if key not in known:
            if len(known) > MAX_PAIRS:
                raise OverflowError
            known[key] = 1  # also for anyone who comes back here on the way
            known[key] = 1 + sum(self._steps(part, inner, known) for part, inner in self._inner_values(schema, value))
        return known[key]

    def _inner_values(self, schema: Schema, value: Any) -> Iterator[tuple[Any, Any]]:
        ref = schema.get("$ref")
        if isinstance(ref, str) and ref.startswith(PREFIX):
            yield self._definitions.get(ref[len(PREFIX) :]), value
        for word in SAME_VALUE:
            yield from ((part, value) for part in schema.get(word) or ())
        for word in SAME_VALUE_ONE:
            if word in schema:
                yield schema[word], value
        if isinstance(value, dict):
            yield from self._fields(schema, value)
        elif isinstance(value, list):
            for word in ("items", "contains"):
                yield from ((schema[word], one) for one in value if word in schema)
            yield from zip(schema.get("prefixItems") or (), value, strict=False)

    def _fields(self, schema: Schema, value: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
        properties = schema.get("properties") or {}
        yield from ((part, value) for part in (schema.get("dependentSchemas") or {}).values())
        for name, one in value.items():
            if name in properties:
                yield properties[name], one
            elif "additionalProperties" in schema:
                yield schema["additionalProperties"], one
            yield from ((part, one) for part in (schema.get("patternProperties") or {}).values())


def may_branch(schema: Any) -> bool:
    """Whether a word that may hold one part of a value against several schemas occurs, wherever and as whatever."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if not BRANCHING.isdisjoint(one):
                return True
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
    return False
