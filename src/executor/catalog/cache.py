"""What the catalog remembers of one workspace between two changes of it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from executor.catalog.description import Wish
from executor.catalog.request_matches import Operations
from executor.model.source import Source
from executor.model.tool import Tool

if TYPE_CHECKING:
    from executor.catalog.declarations.loader import Declared

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The entries used last, up to `size`."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        return self._entries.get(key)

    def put(self, key: K, value: V) -> None:
        if len(self._entries) >= self._size and key not in self._entries:
            for oldest in list(self._entries)[: self._size // 4]:
                del self._entries[oldest]
        self._entries[key] = value


@dataclass(slots=True)
class WorkspaceCache:
    """A change of the catalog replaces the whole shelf: what a slow reader still puts on the old one is never seen."""

    tools: Recent[str, Tool] = field(default_factory=lambda: Recent(5_000))
    sources: dict[str, Source] = field(default_factory=dict)
    declared: Recent[tuple[str, tuple[str, ...], tuple[str, ...]], Declared] = field(default_factory=lambda: Recent(64))
    described: Recent[tuple[str, Wish], dict[str, Any]] = field(default_factory=lambda: Recent(500))
    namespaces: Recent[Hashable, tuple[str, ...]] = field(default_factory=lambda: Recent(64))
    operations: Recent[str, Operations] = field(default_factory=lambda: Recent(32))
