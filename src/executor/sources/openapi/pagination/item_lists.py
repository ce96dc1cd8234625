"""Where in an answer the list is."""

from __future__ import annotations

import re
from typing import Any

from executor.sources.openapi.documents.document import Document
from executor.sources.openapi.documents.walk_budget import remember
from executor.sources.openapi.tools.responses import ALONE, ARRAY, OBJECT, content_schema, object_parts, types_of
from executor.sources.pagination.names import ASIDE, BESIDE, HOLDERS, ITEMS, VAGUE_ITEMS, plain

MAX_CHOICES = 20


@remember
def answer_fields(document: Document, schema: Any, depth: int = 0) -> dict[str, Any]:
    """The properties that an object may have, also those of its alternatives."""
    schema = document.object_at(schema)
    if schema is None or depth > 4:
        return {}
    found = dict(object_parts(document, schema)[0])
    for keyword in ("allOf", "oneOf", "anyOf"):
        choices = schema.get(keyword)
        for choice in choices[:MAX_CHOICES] if isinstance(choices, list) else ():
            inner = answer_fields(document, choice, depth + 1)
            document.visits.spend(len(inner))
            found = {**inner, **found}
    return found


def is_object(document: Document, schema: Any) -> bool:
    return types_of(document, schema) in OBJECT


def items_path(document: Document, properties: dict[str, Any], path: str) -> list[str]:
    """The way to the list: a field of the answer, or of an object that holds all the rest."""
    found = items_field(document, properties, path)
    if found is not None:
        return [found]
    if arrays_of(document, properties):
        return []  # several, and nothing says which
    objects = [name for name, part in properties.items() if is_object(document, part)]
    for name in objects:
        if plain(name) in HOLDERS or len(properties) == 1:
            inner = items_field(document, answer_fields(document, properties[name]), path)
            if inner is not None:
                return [name, inner]
    return []


def arrays_of(document: Document, properties: dict[str, Any]) -> list[str]:
    """Made once for the fields of an answer that several operations give."""
    known = document.made.get((id(properties), "arrays"))
    if known is None:
        known = document.made[(id(properties), "arrays")] = (properties, find_arrays(document, properties))
    found: list[str] = known[1]
    return found


def find_arrays(document: Document, properties: dict[str, Any]) -> list[str]:
    named = [name for name in properties if plain(name) not in ASIDE]
    for allowed in ARRAY:
        found = [name for name in named if types_of(document, properties[name]) == allowed]
        if found:
            return [name for name in found if plain(name) not in BESIDE] or found
    return [name for name in named if plain(name) in ITEMS and "array" in (types_of(document, properties[name]) or ())]


def items_field(document: Document, properties: dict[str, Any], path: str) -> str | None:
    arrays = arrays_of(document, properties)
    if len(arrays) == 1:
        return arrays[0]
    of_objects = [name for name in arrays if holds_objects(document, properties[name])]
    words = [plain(part) for part in re.split(r"[/.:]", path) if part and "{" not in part]
    by_path = next((name for word in reversed(words[-2:]) for name in of_objects if plain(name) == word), None)
    named = next((name for wanted in ITEMS for name in arrays if plain(name) == wanted), None)
    if named is not None and (by_path is None or plain(named) not in VAGUE_ITEMS):
        return named
    return by_path or (of_objects[0] if len(of_objects) == 1 else None)


def holds_objects(document: Document, schema: Any) -> bool:
    items = items_of(document, schema)
    return types_of(document, items) == ALONE["object"] if items is not None else False


@remember
def items_of(document: Document, schema: Any, depth: int = 0) -> Any:
    """The schema of one item of an array; None if it has none."""
    schema = document.object_at(schema)
    if schema is None or depth > 4:
        return None
    for keyword in ("allOf", "oneOf", "anyOf"):
        choices = schema.get(keyword)
        for choice in choices if isinstance(choices, list) and "items" not in schema else ():
            found = items_of(document, choice, depth + 1)
            if found is not None:
                return found
    return schema["items"] if isinstance(schema.get("items"), dict) else None


def has_id(document: Document, schema: Any) -> bool:
    """Whether the items of an array have an `id`, as far as the document says."""
    items = items_of(document, schema)
    return items is not None and "id" in answer_fields(document, items)


def at(document: Document, schema: Any, path: list[str]) -> Any:
    for name in path:
        schema = answer_fields(document, schema).get(name)
    return schema


def item_schema(document: Document, responses: dict[str, dict[str, Any]], path: list[str]) -> Any:
    """The raw schema of one item, for the answer's type."""
    _, schema = content_schema(response_of(responses) or {})
    return items_of(document, at(document, schema, path)) or {}


def response_of(responses: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    return responses.get("200") or next(iter(responses.values()), None)
