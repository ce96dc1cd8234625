"""A call that would be accepted, made up from the schema: the shortest that says what must be given."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeGuard

from executor.model.tool import Schema, Tool
from executor.schemas.merge import SchemaMerger
from executor.schemas.regex_samples import samples
from executor.schemas.shapes.arguments import required_of


# A number within the bounds of a schema.
def number(schema: Schema) -> int | float:
    """1 if it may be that, else the nearest that may."""
    low, high = bounds(schema)
    given, default = schema.get("multipleOf"), schema.get("default")
    step = given if is_number(given) and given > 0 else None
    if is_number(default) and low <= default <= high and step is None:
        return default
    value: int | float = min(max(1, low), high)
    if step is not None:
        value = math.ceil(value / step) * step
        value = value - step if value > high else value
    if schema.get("type") == "integer" or (isinstance(value, float) and value.is_integer()):
        return math.ceil(value) if math.ceil(value) <= high else math.floor(value)
    return value


def bounds(schema: Schema) -> tuple[float, float]:
    """Exclusive bounds are moved by one, or by half of the way there is."""
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    lowest = low if is_number(low) else -math.inf
    highest = high if is_number(high) else math.inf
    if is_number(above) and above >= lowest:
        lowest = above + 1 if above + 1 < min(highest, below if is_number(below) else math.inf) else above + 0.000001
    if is_number(below) and below <= highest:
        highest = below - 1 if below - 1 >= lowest else (below + lowest) / 2
    return lowest, max(lowest, highest)


def is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "someone@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com",
    "url": "https://example.com",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "byte": "aGVsbG8=",
}
MAX_ITEMS = 50
MAX_TEXT = 500
NESTED = 12
MAX_PARTS = 3_000
# (choice of alternatives, with optional fields): the plainest first.
WAYS = ((0, False), (1, False), (2, False), (0, True), (3, False), (1, True), (2, True))
Accepts = Callable[[Any], bool]


def example(
    tool: Tool, strict: Schema, definitions: Mapping[str, Schema], accepts: Accepts, matches: Callable[[str, str], bool]
) -> dict[str, Any] | None:
    """Arguments that `accepts` agrees to; None if none were found. `matches` says whether a pattern fits a text."""
    seen: list[Any] = []
    for choice, full in WAYS:
        made = Maker(definitions, choice, full, matches).value(strict, "")
        if not isinstance(made, dict):
            continue
        for arguments in (beside(tool, made), name_body(tool, made)):
            if arguments not in seen:
                seen.append(arguments)
                if accepts(arguments):
                    return arguments
    return None


def beside(tool: Tool, arranged: dict[str, Any]) -> dict[str, Any]:
    """With the fields of the body beside the parameters, where they may stand there."""
    body, binding = arranged.get("body"), tool.known_keys.get("body")
    if not isinstance(binding, dict) or not binding.get("object") or not isinstance(body, dict) or not body:
        return arranged
    others = {name: value for name, value in arranged.items() if name != "body"}
    flat = set(binding.get("flat", ()))
    whole = tool.body_argument
    if set(body) <= flat or (binding.get("open") and not set(body) & {*others, whole}):
        return {**others, **body}
    return {**others, whole: body}


def name_body(tool: Tool, arranged: dict[str, Any]) -> dict[str, Any]:
    """With the whole body under the name that a call gives it."""
    return {tool.body_argument if name == "body" else name: value for name, value in arranged.items()}


class Maker:
    def __init__(
        self, definitions: Mapping[str, Schema], choice: int, full: bool, matches: Callable[[str, str], bool]
    ) -> None:
        self._merging = SchemaMerger(definitions, choice)
        self._full = full
        self._matches = matches
        self._left = MAX_PARTS

    def value(self, schema: Any, name: str, depth: int = 0) -> Any:
        """None when it would take too many parts: lists of lists multiply."""
        self._left -= 1
        if self._left < 0:
            return None
        whole = self._merging.whole(schema)
        if "const" in whole:
            return whole["const"]
        values = whole.get("enum")
        if isinstance(values, list) and values:
            return next((one for one in values if one is not None), values[0])
        return self._make_typed(whole, kind_of(whole), name, depth)

    def _make_typed(self, schema: Schema, kind: str, name: str, depth: int) -> Any:
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, name, depth)
        if kind in ("integer", "number"):
            return number(schema)
        if kind == "boolean":
            return True
        return None if kind == "null" else self._text(schema, name)

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        required = required_of(schema)
        least = whole_number(schema.get("minProperties"))
        made: dict[str, Any] = {}
        for name in dict.fromkeys([*(one for one in required if one in properties), *properties, *required]):
            wanted = name in required or len(made) < least or (self._full and depth <= 2)
            if wanted and depth < NESTED and properties.get(name) is not False:
                made[name] = self.value(properties.get(name, {}), name, depth + 1)
        more = schema.get("additionalProperties")
        while len(made) < least and more is not False and len(made) < MAX_ITEMS:
            made[f"key{len(made) + 1}"] = self.value(more if isinstance(more, dict) else {}, "value", depth + 1)
        return made

    def _array(self, schema: Schema, name: str, depth: int) -> list[Any]:
        least = min(whole_number(schema.get("minItems")), MAX_ITEMS)
        prefix = schema.get("prefixItems") if isinstance(schema.get("prefixItems"), list) else []
        items = schema.get("items", {})
        wanted = max(least, 1 if items is not False and depth < NESTED - 2 and schema.get("maxItems") != 0 else 0)
        made = [self.value(part, name, depth + 1) for part in prefix or ()][:wanted]
        made += [self.value(items, name, depth + 1) for _ in range(wanted - len(made))]
        return list(distinct(made, self._merging.whole(items))) if schema.get("uniqueItems") is True else made

    def _text(self, schema: Schema, name: str) -> str:
        least = min(whole_number(schema.get("minLength")), MAX_TEXT)
        most = schema.get("maxLength")
        most = most if isinstance(most, int) and most >= 0 else MAX_TEXT
        for made in self._texts(schema, name, least):
            if least <= len(made) <= most:
                return made
        return (name or "text")[:most] + "x" * (min(least, most) - len((name or "text")[:most]))

    def _texts(self, schema: Schema, name: str, least: int) -> Iterator[str]:
        pattern, default = schema.get("pattern"), schema.get("default")
        usual = FORMATS.get(str(schema.get("format")), name or "text")
        plain = [default] if isinstance(default, str) and default else []
        plain += (
            [usual, usual + "x" * (least - len(usual)), usual[: schema["maxLength"]]]
            if isinstance(schema.get("maxLength"), int)
            else [usual, usual + "x" * (least - len(usual))]
        )
        if not isinstance(pattern, str):
            yield from plain
            return
        yield from (made for made in (*plain, *samples(pattern, least)) if self._matches(pattern, made))


def kind_of(schema: Schema) -> str:
    types = schema.get("type")
    named = [one for one in (types if isinstance(types, list) else [types]) if isinstance(one, str)]
    if named:
        return next((one for one in named if one != "null"), "null")
    if any(word in schema for word in ("properties", "additionalProperties", "required", "minProperties")):
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    return "number" if "minimum" in schema or "maximum" in schema else "string"


def distinct(items: list[Any], schema: Schema) -> Iterator[Any]:
    values = schema.get("enum")
    if isinstance(values, list) and len(items) > 1:
        yield from values[: len(items)]
        return
    for index, item in enumerate(items):
        if index and isinstance(item, str):
            yield f"{item}{index + 1}"
        elif index and isinstance(item, int | float) and not isinstance(item, bool):
            yield item + index
        elif not index:
            yield item


def whole_number(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
