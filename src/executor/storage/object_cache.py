"""What was worked out of objects that are never changed, only replaced: policies, tools, sources.

Every call of a tool asks the same of the same objects, and comparing these themselves would take as long as the answer.
An answer is kept for the very objects that it was worked out of, which it holds: as long as it is kept, no other object
can have their identity. See docs/decisions/remembered-by-object.md.
"""

from __future__ import annotations

from typing import Generic, TypeVar

KEPT = 1_000
V = TypeVar("V")


class ObjectCache(Generic[V]):
    """`name` is what matters besides the objects, such as who asks."""

    def __init__(self) -> None:
        self._known: dict[tuple[str | int, ...], tuple[tuple[object, ...], V]] = {}

    def get(self, name: str, *of: object) -> V | None:
        known = self._known.get((name, *map(id, of)))
        return known[1] if known is not None else None

    def put(self, value: V, name: str, *of: object) -> V:
        if len(self._known) >= KEPT:
            self._known.clear()
        self._known[(name, *map(id, of))] = of, value
        return value

    def clear(self) -> None:
        self._known.clear()
