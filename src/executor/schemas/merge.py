"""A schema with what it refers to and is composed of, in one: good enough to make a value from, not to check one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from executor.model.tool import Schema
from executor.schemas.references import PREFIX
from executor.schemas.shapes.arguments import required_of

MAX_DEPTH = 16
MAX_PARTS = 500
COMPOSING = frozenset({"$ref", "allOf", "anyOf", "oneOf"})


class SchemaMerger:
    """`choice` is which of the alternatives is taken."""

    def __init__(self, definitions: Mapping[str, Schema], choice: int = 0) -> None:
        self._definitions = definitions
        self._choice = choice
        self._left = MAX_PARTS

    def whole(self, schema: Any, depth: int = 0) -> Schema:
        """Parts that refer to further parts multiply, so beyond a number of them they are left out."""
        if not isinstance(schema, dict):
            return {}
        if not COMPOSING & schema.keys():
            return schema
        self._left = MAX_PARTS if depth == 0 else self._left - 1
        if depth > MAX_DEPTH or self._left < 0:
            return {}
        made = {word: part for word, part in schema.items() if word not in COMPOSING}
        ref = schema.get("$ref")
        if isinstance(ref, str) and ref.startswith(PREFIX):
            made = merge_schemas(made, self.whole(self._definitions.get(ref[len(PREFIX) :]), depth + 1))
        parts = schema.get("allOf")
        for part in parts if isinstance(parts, list) else ():
            made = merge_schemas(made, self.whole(part, depth + 1))
        for word in ("oneOf", "anyOf"):
            chosen = self._choose(schema.get(word), made)
            if chosen is not None:
                made = merge_schemas(made, self.whole(chosen, depth + 1))
        return made

    def _choose(self, choices: Any, made: Schema) -> Any:
        if not isinstance(choices, list):
            return None
        telling = [one for one in choices if isinstance(one, dict) and one.get("type") != "null"]
        return telling[self._choice % len(telling)] if telling else (choices[0] if choices else None)


def merge_schemas(first: Schema, second: Schema) -> Schema:
    """Where both speak, the stricter word counts where that is easy to see, else the first."""
    made = {**second, **first}
    for word in ("properties",):
        one, other = first.get(word), second.get(word)
        if isinstance(one, dict) and isinstance(other, dict):
            both = {name: {"allOf": [one[name], other[name]]} for name in one.keys() & other.keys()}
            made[word] = {**other, **one, **both}
    required = list(dict.fromkeys([*required_of(first), *required_of(second)]))
    if required:
        made["required"] = required
    if isinstance(first.get("enum"), list) and isinstance(second.get("enum"), list):
        made["enum"] = [one for one in first["enum"] if one in second["enum"]] or first["enum"]
    for word, stricter in (("minimum", max), ("maximum", min), ("minLength", max), ("maxLength", min)):
        if isinstance(first.get(word), int | float) and isinstance(second.get(word), int | float):
            made[word] = stricter(first[word], second[word])
    if "type" in first and "type" in second:
        made["type"] = narrower(first["type"], second["type"])
    return made


def narrower(first: Any, second: Any) -> Any:
    one, other = (set(part) if isinstance(part, list) else {part} for part in (first, second))
    if {"integer", "number"} <= one | other and not {"integer", "number"} <= one & other:
        return "integer"
    common = [part for part in (first if isinstance(first, list) else [first]) if part in other]
    return common if common else first
