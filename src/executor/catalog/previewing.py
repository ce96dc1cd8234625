"""What a source would offer, read in full and thrown away."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from executor.catalog import reading
from executor.model.source import Loaded
from executor.model.tool import Skipped
from executor.sources import packing
from executor.sources.kind import Kind, SourceRequest

SHOWN = 50


@dataclass(frozen=True, slots=True)
class Offered:
    path: str
    description: str
    effect: str


@dataclass(frozen=True, slots=True)
class Preview:
    """The first `tools` of `tool_count`. `note` says why there are none yet."""

    name: str
    namespace: str
    tool_count: int
    tools: tuple[Offered, ...]
    skipped: tuple[Skipped, ...]
    note: str = ""


async def preview(kind: Kind, request: SourceRequest) -> Preview:
    loaded, error = await reading.first(kind, request)
    tools = await asyncio.to_thread(first_of, loaded)
    count = loaded.packed.tool_count if loaded.packed is not None else len(loaded.tools)
    return Preview(loaded.name, loaded.namespace, count, tools, loaded.skipped, error)


def first_of(loaded: Loaded) -> tuple[Offered, ...]:
    if loaded.packed is None:
        return tuple(Offered(one.path, one.description, one.effect) for one in loaded.tools[:SHOWN])
    if not loaded.packed.tools:
        return ()
    rows = packing.tool_rows(loaded.packed.tools[0])[:SHOWN]
    return tuple(Offered(row.path, row.description, row.effect) for row in rows)
