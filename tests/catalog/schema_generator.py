"""Schemas as careless as real ones, and values for them, from a seed."""

from __future__ import annotations

import copy
import random
from typing import Any

from executor.catalog.description import fits_pattern
from executor.schemas.examples import WAYS, Maker
from executor.schemas.validation import Validator, compile_schema
from executor.storage.catalog.definitions import with_definitions

NAMES = ("id", "from", "x-y", "class", "__proto__", "a b", "self", "list", "constructor", "kind", "é", "default", "1st")
SCALARS = ("string", "integer", "number", "boolean", "null")
DEFINITIONS = ("Node", "Pet", "Cat", "Word", "Self")


class SchemaGenerator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.definitions: dict[str, Any] = {name: self.schema(2) for name in DEFINITIONS[1:]}
        node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "value": self.schema(1)}}
        self.definitions |= {"Node": node, "Self": {"anyOf": [{"$ref": "#/$defs/Self"}, {"type": "string"}]}}

    def arguments(self) -> dict[str, Any]:
        return {**self.object(3), "type": "object"}

    def schema(self, depth: int) -> Any:
        kinds = [self.scalar, self.scalar, self.values]
        if depth:
            kinds += [self.array, self.combination, self.reference, self.sloppy]
            made = self.random.choice([*kinds, self.below])(depth)
        else:
            made = self.random.choice(kinds)(depth)
        if isinstance(made, dict) and isinstance(made.get("type"), str) and self.chance(0.15):
            made["type"] = [made["type"], "null"]
        return made

    def below(self, depth: int) -> Any:
        return self.object(depth)

    def object(self, depth: int) -> dict[str, Any]:
        names = self.random.sample(NAMES, self.random.randint(0, 4))
        made: dict[str, Any] = {"properties": {name: self.schema(depth - 1) for name in names}}
        made["required"] = [name for name in names if self.chance(0.4)]
        if self.chance(0.8):
            made["type"] = "object"
        if self.chance(0.7):
            made["additionalProperties"] = self.random.choice([False, False, True, self.schema(0)])
        if self.chance(0.1):
            made["required"].append("unlisted")
        return made

    def scalar(self, depth: int) -> Any:
        made: dict[str, Any] = {"type": self.random.choice(SCALARS)}
        return {**made, "format": "date-time"} if self.chance(0.1) else made

    def values(self, depth: int) -> Any:
        listed = self.random.sample(["a", "b*/", 'c"', "\n", 1, 2.5, -3, True, None, "x" * 300, {"k": 1}, [1]], 3)
        return self.random.choice([{"enum": listed}, {"const": listed[0]}, {"type": "string", "enum": ["on", "off"]}])

    def array(self, depth: int) -> Any:
        made = {"type": "array", "items": self.schema(depth - 1)}
        return {"items": made["items"]} if self.chance(0.2) else made

    def combination(self, depth: int) -> Any:
        word = self.random.choice(["anyOf", "oneOf", "allOf"])
        made = {word: [self.schema(depth - 1) for _ in range(self.random.randint(1, 3))]}
        return {**self.object(depth - 1), **made} if self.chance(0.3) else made

    def reference(self, depth: int) -> Any:
        made = {"$ref": f"#/$defs/{self.random.choice(DEFINITIONS)}"}
        return {**made, "description": "that"} if self.chance(0.3) else made

    def sloppy(self, depth: int) -> Any:
        return self.random.choice(
            [
                {}, True, {"type": "text"}, {"type": ["string", "uuid"]}, {"required": True, "properties": []},
                {"properties": {"id": 3}}, {"enum": "a"}, {"allOf": []}, {"allOf": [3]}, {"additionalProperties": "no"},
                {"required": ["id"]}, {"description": "what", "nullable": True}, {"not": {"type": "null"}},
                {"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": False},
            ]
        )  # fmt: skip

    def any_value(self, depth: int = 2) -> Any:
        plain = ["text", "on", "a", 1, 2.5, True, None, "2026-01-31T12:00:00Z", [], {}]
        if not depth or self.chance(0.6):
            return self.random.choice(plain)
        if self.chance(0.3):
            return [self.any_value(depth - 1) for _ in range(2)]
        return {name: self.any_value(depth - 1) for name in self.random.sample(NAMES, 2)}

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def valid_arguments(self, schema: dict[str, Any], validator: Validator, count: int = 6) -> list[dict[str, Any]]:
        """Arguments that validation accepts: plain ones, full ones, and ones with something changed."""
        found: list[dict[str, Any]] = []
        for choice, full in WAYS:
            made = Maker(self.definitions, choice, full, fits_pattern).value(schema, "")
            for one in (made, self.change(made), self.change(self.change(made))):
                if isinstance(one, dict) and one not in found and validator.errors(one) == []:
                    found.append(one)
        return found[:count]

    def change(self, value: Any) -> Any:
        if not isinstance(value, dict) or not value:
            return {self.random.choice(NAMES): self.any_value()}
        made = copy.deepcopy(value)
        name = self.random.choice([*made, self.random.choice(NAMES)])
        if self.chance(0.2):
            made.pop(name, None)
        else:
            made[name] = self.change(made[name]) if self.chance(0.3) and name in made else self.any_value()
        return made


def validator_of(schema: dict[str, Any], definitions: dict[str, Any]) -> Validator:
    return compile_schema(copy.deepcopy(with_definitions(schema, definitions)))
