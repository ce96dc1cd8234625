"""Parameters that say nothing about an operation, because its whole path or the whole document has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

from executor.sources.openapi.document import Document, UnresolvedRef, key_text

FEWEST = 5
SHARE = 0.8

Place = tuple[str, str]


def shared_parameters(document: Document, operations: Iterable[tuple[Any, Any]]) -> frozenset[Place]:
    """`(place, name)` of what most operations have; each operation is given as the lists of its path and its own."""
    counts: Counter[Hashable] = Counter()
    examples: dict[Hashable, Any] = {}
    total = 0
    for lists in operations:
        total += 1
        own = {key_of(raw): raw for group in lists if isinstance(group, list) for raw in group if isinstance(raw, dict)}
        document.visits.spend(len(own))
        counts.update(own.keys())
        examples |= own
    least = max(FEWEST, total * SHARE)
    return frozenset(place_of(document, examples[key]) for key, count in counts.items() if count >= least)


def key_of(raw: dict[str, Any]) -> Hashable:
    ref = raw.get("$ref")
    return ref if isinstance(ref, str) else (key_text(raw.get("in")), key_text(raw.get("name")))


def place_of(document: Document, raw: Any) -> Place:
    try:
        raw = document.follow(raw)
    except UnresolvedRef:
        return "", ""
    return (key_text(raw.get("in")).lower(), key_text(raw.get("name"))) if isinstance(raw, dict) else ("", "")


def places_of(document: Document, parameters: Any) -> frozenset[Place]:
    return frozenset(place_of(document, raw) for raw in parameters) if isinstance(parameters, list) else frozenset()
