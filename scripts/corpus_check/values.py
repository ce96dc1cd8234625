"""Values that a schema of a document allows, made up by the checker."""

from __future__ import annotations

import json
import re
from typing import Any

from .documents import Document
from .patterns import matching

FORMATS = {
    "date": "2024-05-06", "date-time": "2024-05-06T07:08:09Z", "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "email": "a.b@example.com", "uri": "https://example.com/a?b=c", "url": "https://example.com/a", "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1", "hostname": "example.com", "byte": "aGVsbG8=", "time": "07:08:09Z", "duration": "P1D",
}  # fmt: skip
INVENTED = "key"  # of objects that may have any
ODD = "a/b c&d=é%+"
MAX_DEPTH = 7


class Maker:
    """`full` fills optional properties too, `choice` is the branch taken of `oneOf` and `anyOf`, `odd` puts characters
    that must be encoded into free text. What is sent has no read-only properties, an answer no write-only ones."""

    def __init__(
        self, document: Document, *, full: bool, choice: int, odd: bool, examples: bool, answer: bool = False
    ) -> None:
        self.document = document
        self.hidden = "writeOnly" if answer else "readOnly"
        self.full, self.choice, self.odd, self.examples = full, choice, odd, examples

    def value(self, schema: Any, depth: int = 0) -> Any:
        schema = self.whole(schema)
        if not schema or isinstance(schema, bool):
            return {"true": 1} if schema is True else ODD if self.odd and depth < 2 else "text"
        if "const" in schema:
            return schema["const"]
        enum = schema.get("enum")
        if isinstance(enum, list) and enum:
            chosen = next((one for one in enum if fits(one, schema)), enum[0])
            kind = kind_of(schema) if schema.get("type") else ""
            if kind == "string" and not isinstance(chosen, str):
                return json.dumps(chosen)  # YAML made something else of a word
            if kind == "array" and not isinstance(chosen, list):
                return [chosen]
            return json.loads(chosen) if kind in ("integer", "number", "boolean") and is_word(chosen) else chosen
        if self.examples:
            for one in (schema.get("example"), *listed(schema.get("examples")), schema.get("default")):
                if one is not None and fits(one, schema) and not isinstance(one, dict | list):
                    return one
        return self.typed(schema, kind_of(schema), depth)

    def typed(self, schema: dict[str, Any], kind: str, depth: int) -> Any:
        if kind == "object":
            return self.object(schema, depth)
        if kind == "array":
            least = schema.get("minItems") if isinstance(schema.get("minItems"), int) else 0
            wanted = max(least, 2 if self.full and depth < 2 else 1 if depth < MAX_DEPTH else 0)
            wanted = min(wanted, schema["maxItems"]) if isinstance(schema.get("maxItems"), int) else wanted
            first = [self.value(one, depth + 1) for one in listed(schema.get("prefixItems"))]
            if first or schema.get("items") is False:
                return first
            items = [self.value(schema.get("items", {}), depth + 1) for _ in range(min(wanted, 50))]
            if schema.get("uniqueItems") is not True:
                return items
            inner = self.whole(schema.get("items"))
            return distinct(items, least, inner.get("pattern") if isinstance(inner, dict) else None)
        if kind in ("integer", "number"):
            return number(schema, kind)
        if kind == "boolean":
            return True
        return None if kind == "null" else self.text(schema)

    def object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties") if isinstance(schema.get("properties"), dict) else {}
        required = {one for one in listed(schema.get("required")) if isinstance(one, str)}
        made: dict[str, Any] = {}
        least = schema.get("minProperties") if isinstance(schema.get("minProperties"), int) else 0
        for name, part in properties.items():
            target = self.document.follow(part)
            if part is False or (isinstance(target, dict) and target.get(self.hidden) is True):
                continue
            if self.document.has_siblings and isinstance(part, dict) and part.get(self.hidden) is True:
                continue
            is_wanted = (self.full and depth < 2) or (len(made) < least and depth < MAX_DEPTH)
            if name in required or is_wanted:
                made[name] = self.value(part, depth + 1) if depth < MAX_DEPTH + 6 else None
        for name in required - properties.keys():
            made[name] = "text"
        more = schema.get("additionalProperties")
        is_free = not properties and more is not False and self.full and depth < 3
        if len(made) < least or is_free:
            made[INVENTED] = self.value(more if isinstance(more, dict) else {}, depth + 1)
        return made

    def text(self, schema: dict[str, Any]) -> str:
        least = schema.get("minLength") if isinstance(schema.get("minLength"), int) else 0
        most = schema.get("maxLength") if isinstance(schema.get("maxLength"), int) else None
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and pattern:
            made = matching(pattern, least, most, lambda made: made not in (".", ".."))
            if made is not None:
                return made
        if schema.get("format") in FORMATS:
            return FORMATS[schema["format"]]
        free = ODD if self.odd and (most is None or most >= len(ODD)) else "text"
        made = free + "x" * max(0, min(least, 100_000) - len(free))
        return made[:most] if most else made

    def whole(self, schema: Any, depth: int = 0) -> Any:
        """The schema with what it refers to and is composed of, in one."""
        if self.document.has_siblings and isinstance(schema, dict) and len(schema) > 1 and "$ref" in schema:
            rest = {key: part for key, part in schema.items() if key != "$ref"}
            return merged(rest, self.whole(self.document.target(schema), depth + 1)) if depth < 12 else {}
        schema = self.document.follow(schema)
        if not isinstance(schema, dict):
            return schema if isinstance(schema, bool) else {}
        if depth > 12 or not any(word in schema for word in ("allOf", "oneOf", "anyOf")):
            return schema
        made = {key: part for key, part in schema.items() if key not in ("allOf", "oneOf", "anyOf")}
        for part in listed(schema.get("allOf")):
            made = merged(made, self.whole(part, depth + 1))
        for word in ("oneOf", "anyOf"):
            choices = listed(schema.get(word))
            if choices:
                chosen = self.whole(choices[self.choice % len(choices)], depth + 1)
                if isinstance(chosen, dict) and "$ref" not in chosen:
                    made = merged(made, chosen)
        return made


def merged(first: Any, second: Any) -> dict[str, Any]:
    if not isinstance(second, dict) or not isinstance(first, dict):
        return first if isinstance(first, dict) else {}
    made = {**second, **first}
    if isinstance(first.get("properties"), dict) and isinstance(second.get("properties"), dict):
        both = first["properties"].keys() & second["properties"].keys()
        twice = {key: {"allOf": [first["properties"][key], second["properties"][key]]} for key in both}
        made["properties"] = {**second["properties"], **first["properties"], **twice}
    if isinstance(first.get("items"), dict) and isinstance(second.get("items"), dict):
        made["items"] = {"allOf": [first["items"], second["items"]]}
    made["required"] = [*listed(first.get("required")), *listed(second.get("required"))]
    if isinstance(first.get("enum"), list) and isinstance(second.get("enum"), list):
        made["enum"] = [one for one in first["enum"] if one in second["enum"]] or first["enum"]
    return made


def kind_of(schema: dict[str, Any]) -> str:
    kinds = [one for one in listed(schema.get("type")) if one != "null"]
    if kinds:
        return "string" if kinds[0] == "file" else str(kinds[0])
    if isinstance(schema.get("properties"), dict) or "additionalProperties" in schema or "minProperties" in schema:
        return "object"
    if "items" in schema:
        return "array"
    return "integer" if "minimum" in schema or "maximum" in schema else "object" if schema.get("required") else "string"


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None or isinstance(value, dict) else [value]


def fits(value: Any, schema: dict[str, Any]) -> bool:
    kind = kind_of(schema) if schema.get("type") else ""
    types: dict[str, Any] = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "array": list,
        "object": dict,
    }
    if kind in ("integer", "number") and isinstance(value, bool):
        return False
    if kind == "string" and isinstance(value, str) and isinstance(schema.get("pattern"), str):
        try:
            return re.search(schema["pattern"], value) is not None
        except re.error:
            return True
    return kind not in types or isinstance(value, types[kind])


def distinct(items: list[Any], least: int, pattern: Any = None) -> list[Any]:
    made: list[Any] = []
    for one in items:
        if one not in made:
            made.append(one)
    while len(made) < least and made and isinstance(made[0], str):
        one = f"{made[0]}{len(made)}"
        if isinstance(pattern, str) and pattern:
            one = matching(pattern, 1, None, lambda text: text not in made) or one
        made.append(one)
    while len(made) < least and made and isinstance(made[0], int):
        made.append(made[-1] + 1)
    return made


def number(schema: dict[str, Any], kind: str) -> int | float:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    step = schema.get("multipleOf") or 1
    if kind == "number" and is_number(low) and is_number(high) and step == 1 and low < high:
        return (low + high) / 2
    low = low if is_number(low) else None
    high = high if is_number(high) else None
    if is_number(above):
        low = above + step if low is None else max(low, above + step)
    elif above is True and low is not None:
        low += step
    if is_number(below):
        high = below - step if high is None else min(high, below - step)
    elif below is True and high is not None:
        high -= step
    value: Any = 1 if (low is None or low <= 1) and (high is None or high >= 1) else low if low is not None else high
    if is_number(step) and step != 1:
        value = step if (low is None or low <= step) and (high is None or high >= step) else -(-value // step) * step
    if kind == "integer":
        return int(value)
    return value


def is_word(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d+)?|true|false", value) is not None


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
