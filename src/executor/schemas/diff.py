"""What differs between two JSON Schemas, place by place, for people. Bounded: they may be deep, or go in circles."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from executor.dataclass import dataclass
from executor.schemas.references import target_name

MOST = 50
DEEPEST = 12
SHOWN = 200
WORDS = ("format", "pattern", "default", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
         "minLength", "maxLength", "minItems", "maxItems", "description", "deprecated")  # fmt: skip
ALTERNATIVES = ("oneOf", "anyOf", "allOf")


@dataclass(frozen=True, slots=True)
class Difference:
    """`at` is the place (`input.customer.name`), `what` the keyword that differs, or `added` and `removed`."""

    at: str
    what: str
    was: str = ""
    now: str = ""


@dataclass(slots=True)
class Comparison:
    """`cut` when there was more than is listed."""

    found: list[Difference] = field(default_factory=list)
    cut: bool = False

    def add(self, at: str, what: str, was: Any = "", now: Any = "") -> None:
        if len(self.found) < MOST:
            self.found.append(Difference(at, what, text(was), text(now)))
        else:
            self.cut = True


class Sides:
    """Both schemas with their own definitions; a pair of definitions is compared once."""

    def __init__(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        self._before = before.get("$defs") or {}
        self._after = after.get("$defs") or {}
        self._seen: set[tuple[str, str]] = set()

    def resolve(self, before: Any, after: Any) -> tuple[Any, Any] | None:
        """None if this pair was compared already."""
        names = (target_name(before), target_name(after))
        if all(names):
            if names in self._seen:
                return None
            self._seen.add(names)
        return within(before, self._before), within(after, self._after)


def compare(at: str, before: dict[str, Any] | None, after: dict[str, Any] | None, into: Comparison) -> None:
    """Both with the definitions they reach in their `$defs`."""
    if before is None or after is None:
        if before is not after:
            into.add(at, "removed" if after is None else "added", kind(before), kind(after))
        return
    walk(at, before, after, Sides(before, after), into, 0)


def walk(at: str, before: Any, after: Any, sides: Sides, into: Comparison, depth: int) -> None:
    if into.cut or (before == after and not refers(before)):
        return
    if depth > DEEPEST:
        into.cut = True
        return
    pair = sides.resolve(before, after)
    if pair is None:
        return
    old, new = pair
    if not isinstance(old, dict) or not isinstance(new, dict):
        if old != new:
            into.add(at, "schema", old, new)
        return
    if kind(old) != kind(new):
        into.add(at, "type", kind(old), kind(new))
    for word in WORDS:
        if old.get(word) != new.get(word):
            into.add(at, word, old.get(word, ""), new.get(word, ""))
    for name, one, other in inner(at, old, new, into):
        walk(name, one, other, sides, into, depth + 1)


def inner(at: str, old: dict[str, Any], new: dict[str, Any], into: Comparison) -> Iterator[tuple[str, Any, Any]]:
    """The places below that are on both sides; those on one side alone are reported here."""
    yield from properties(at, old, new, into)
    if isinstance(old.get("items"), dict) and isinstance(new.get("items"), dict):
        yield f"{at}[]", old["items"], new["items"]
    if isinstance(old.get("additionalProperties"), dict) and isinstance(new.get("additionalProperties"), dict):
        yield f"{at}.*", old["additionalProperties"], new["additionalProperties"]
    for word in ALTERNATIVES:
        one, other = old.get(word) or [], new.get(word) or []
        if len(one) != len(other):
            into.add(at, word, f"{len(one)} alternatives", f"{len(other)} alternatives")
        else:
            yield from ((at, *pair) for pair in zip(one, other, strict=True))


def properties(at: str, old: dict[str, Any], new: dict[str, Any], into: Comparison) -> Iterator[tuple[str, Any, Any]]:
    before, after = old.get("properties") or {}, new.get("properties") or {}
    needed, needs = set(old.get("required") or ()), set(new.get("required") or ())
    for name in dict.fromkeys([*before, *after]):
        place = f"{at}.{name}"
        if name not in before:
            into.add(place, "added", "", f"{kind(after[name])}{', required' if name in needs else ''}")
        elif name not in after:
            into.add(place, "removed", kind(before[name]), "")
        else:
            if (name in needed) != (name in needs):
                into.add(place, "required", "required" if name in needed else "optional",
                         "required" if name in needs else "optional")  # fmt: skip
            yield place, before[name], after[name]


def kind(schema: Any) -> str:
    """In a word or two."""
    if not isinstance(schema, dict):
        return "" if schema is None else text(schema)
    if name := target_name(schema):
        return name
    if "enum" in schema:
        return text(" | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"][:20]))
    type = schema.get("type")
    if type == "array":
        return f"array of {kind(schema.get('items')) or 'anything'}"
    if isinstance(type, list):
        return " | ".join(map(str, type))
    return str(type) if type else next((word for word in ALTERNATIVES if word in schema), "anything")


def refers(schema: Any) -> bool:
    """Equal schemas may still refer to definitions that differ."""
    return '"$ref"' in json.dumps(schema)


def within(schema: Any, definitions: Mapping[str, Any]) -> Any:
    for _ in range(DEEPEST):
        name = target_name(schema)
        if not name or name not in definitions:
            break
        schema = {**definitions[name], **{word: value for word, value in schema.items() if word != "$ref"}}
    return schema


def text(value: Any) -> str:
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return written if len(written) <= SHOWN else written[: SHOWN - 1] + "…"
