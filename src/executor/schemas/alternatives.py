"""Schemas that hold one value against thousands of others are opened: checking it would stop everything else.

Alternatives that refer to further alternatives multiply, so a short document can ask for billions of comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from executor.model.tool import Schema, Skipped, Tool
from executor.schemas.keywords import LISTS, MAPS, SINGLES
from executor.schemas.references import components, target_name

MAX_ALTERNATIVES = 2_000
# Words whose schemas are held against the same value as the schema they stand in.
BESIDE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})
HOLDERS = MAPS | LISTS | SINGLES | {"$ref"}  # a schema with none of them counts for itself only


def loosen(tools: Iterable[Tool], definitions: dict[str, Schema]) -> list[Skipped]:
    """Changes the schemas where they are too much, and says where that was."""
    links = {name: sorted(beside(schema) & definitions.keys()) for name, schema in definitions.items()}
    counts: dict[str, int] = {}
    opened: list[Skipped] = []
    for name in (name for component in components(links) for name in component):
        counts[name] = alternatives(definitions[name], counts)
        if counts[name] > MAX_ALTERNATIVES:
            opened.append(note(f"#/components/schemas/{name}"))
            definitions[name], counts[name] = {}, 1
    seen: set[int] = set()
    for name, schema in definitions.items():
        if open_children(schema, counts, seen):
            opened.append(note(f"#/components/schemas/{name}"))
    for tool in tools:
        body = tool.known_keys.get("body")
        whole: Schema = {"items": tool.input_schema, "contains": body.get("schema", {}) if body else {}}
        if open_children(whole, counts, seen):
            opened.append(note(tool.path))
        if whole["items"] is not tool.input_schema:
            tool.input_schema.clear()
            tool.input_schema["type"] = "object"
        if body and "schema" in body:
            body["schema"] = whole["contains"]
    return opened


def alternatives(schema: Any, counts: Mapping[str, int]) -> int:
    """How many schemas one value is held against."""
    total = 0
    for one in same_value(schema):
        total += 1 + counts.get(target_name(one), 0)
    return total


def beside(schema: Any) -> set[str]:
    return {target_name(one) for one in same_value(schema)}


def same_value(schema: Any) -> Iterator[Schema]:
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
            for word in BESIDE & node.keys():
                stack.extend(part for _, part in places(node, word)[1])


def open_children(schema: Any, counts: Mapping[str, int], seen: set[int]) -> bool:
    """Opens each schema for a part of the value that is too much, however deep it is.

    `seen` are those, by identity, that are not too much as far as they are walked through: tools share most of theirs.
    """
    found = False
    stack = [schema]
    while stack:
        node = stack.pop()
        for word in [word for word in node if word in HOLDERS] if isinstance(node, dict) else ():
            holder, parts = places(node, word)
            for key, part in parts:
                if not isinstance(part, dict) or HOLDERS.isdisjoint(part) or id(part) in seen:
                    continue
                if word in BESIDE:  # it is held against the same value, so it counted there
                    stack.append(part)
                elif alternatives(part, counts) > MAX_ALTERNATIVES:
                    holder[key], found = {}, True
                else:
                    seen.add(id(part))
                    stack.append(part)
    return found


def places(node: Schema, word: str) -> tuple[Any, Iterable[tuple[Any, Any]]]:
    """What holds the schemas of a word of a schema, and each of them with its key there."""
    value = node[word]
    if word in MAPS:
        return value, value.items() if isinstance(value, dict) else ()
    if word in LISTS:
        return value, enumerate(value) if isinstance(value, list) else ()
    return node, ((word, value),) if word in SINGLES else ()


def note(where: str) -> Skipped:
    return Skipped(
        where[:200], f"it has over {MAX_ALTERNATIVES:,} alternatives for one value; any value is accepted there"
    )
