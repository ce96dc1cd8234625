"""What a schema and everything it is composed of say about its properties, taken together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from executor.sources.openapi.documents.document import Document, key_text
from executor.sources.openapi.documents.walk_budget import remember

COMPOSING = ("allOf", "anyOf", "oneOf")
MAX_DEPTH = 12
Declared = dict[str, tuple[Any, ...]]


@remember
def declared_properties(document: Document, schema: Any, depth: int = 0) -> Declared:
    """The schemas that each property has, its own first."""
    found: Declared = {}
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return found
    properties = schema.get("properties")
    if isinstance(properties, dict):
        found = {key_text(name): (part,) for name, part in properties.items()}
    for word in COMPOSING:
        parts = schema.get(word)
        for part in parts if isinstance(parts, list) else ():
            inner = declared_properties(document, part, depth + 1)
            document.visits.spend(len(inner))
            for name, schemas in inner.items():
                found[name] = (*found.get(name, ()), *schemas)
    return found


def is_composed(schema: Mapping[str, Any]) -> bool:
    return any(word in schema for word in COMPOSING)


def only_requires(schema: Mapping[str, Any]) -> bool:
    """A part without properties of its own that requires some means them, also where another part has them read-only.

    So references do, whose `id` is read-only in what they refer to.
    """
    return "required" in schema and not schema.get("properties") and not is_composed(schema)


def is_answered(document: Document, schemas: Sequence[Any]) -> bool:
    """Whether a property is only in answers: wherever it is declared, it is read-only."""
    return bool(schemas) and all(document.is_read_only(one) for one in schemas)
