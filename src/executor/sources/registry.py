"""Which kinds of sources there are: the built-in ones, and those that installed packages register by entry point.

A kind is loaded when it is first needed, in a thread: the libraries behind some take long to import.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.network.client import Egress
from executor.sources.kind import Kind

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "executor.kinds"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a kind is given: the one way out, a place for files of its own, and a callback for changed sources."""

    egress: Egress
    state_dir: Path
    on_changed: Callable[[str], None]
    mcp_seconds: tuple[float, float] = (60.0, 1800.0)  # of a call: without news, and in all
    mcp_review: str = "writes"  # which changed tools of MCP servers wait for a review, where a source does not say


Make = Callable[[Surroundings], Kind]
# In the order in which they probe an address.
BUILT_IN: dict[str, str] = {
    "openapi": "executor.sources.openapi.kind:OpenApi",
    "graphql": "executor.sources.graphql.kind:GraphQL",
    "mcp": "executor.sources.mcp.kind:Mcp",
}


class Kinds:
    """Holds nothing but names; `get` loads the kind itself. `on_changed` may be set until the first one is loaded."""

    def __init__(
        self,
        egress: Egress,
        state_dir: Path,
        made: Mapping[str, Kind] | None = None,
        *,
        mcp_seconds: tuple[float, float] = (60.0, 1800.0),
        mcp_review: str = "writes",
    ) -> None:
        self.on_changed: Callable[[str], None] = lambda source_id: None
        self._surroundings = Surroundings(egress, state_dir, self._on_changed, mcp_seconds, mcp_review)
        self._made: dict[str, Kind] = dict(made or {})
        self._only = made is not None
        self._makers: dict[str, Make] | None = None
        self._making = asyncio.Lock()

    @classmethod
    def of(cls, made: Mapping[str, Kind]) -> Kinds:
        """Exactly these."""
        return cls(Egress(), Path(), made)

    def ready(self, name: str) -> Kind | None:
        return self._made.get(name)

    async def names(self) -> list[str]:
        return list(self._made if self._only else await self._read_makers())

    async def get(self, name: str) -> Kind:
        kind = self._made.get(name)
        if kind is not None:
            return kind
        makers = {} if self._only else await self._read_makers()
        if name not in makers:
            known = ", ".join(await self.names())
            raise InvalidRequest(f"{name[:80]!r} is not a kind of source", hint=f"known kinds: {known}")
        async with self._making:
            if name not in self._made:
                self._made[name] = await asyncio.to_thread(makers[name], self._surroundings)
        return self._made[name]

    async def close(self) -> None:
        for kind in self._made.values():
            await kind.close()

    async def _read_makers(self) -> dict[str, Make]:
        if self._makers is None:
            self._makers = await asyncio.to_thread(makers)
        return self._makers

    def _on_changed(self, source_id: str) -> None:
        self.on_changed(source_id)


def makers() -> dict[str, Make]:
    """A package can add kinds, but not replace a built-in one."""
    from importlib.metadata import entry_points  # slow to import, and not needed to start

    found: dict[str, Make] = {name: built_in(where) for name, where in BUILT_IN.items()}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        found.setdefault(point.name, load_entry_point(point))
    return found


def built_in(where: str) -> Make:
    module, _, name = where.partition(":")

    def make(surroundings: Surroundings) -> Kind:
        kind: Kind = getattr(import_module(module), name)(*arguments(name, surroundings))
        return kind

    return make


def arguments(name: str, surroundings: Surroundings) -> tuple[Any, ...]:
    if name == "Mcp":
        here = surroundings
        return here.egress, here.state_dir, here.on_changed, here.mcp_seconds, here.mcp_review
    return (surroundings.egress,)


def load_entry_point(point: EntryPoint) -> Make:
    def make(surroundings: Surroundings) -> Kind:
        kind: Kind = point.load()(surroundings)
        return kind

    return make
