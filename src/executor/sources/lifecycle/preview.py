"""What a source would offer, read in full and thrown away."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from executor.dataclass import dataclass
from executor.model.packed import Packed
from executor.model.tool import Skipped
from executor.sources.filters import ONLY_NAMES, FilterKind, traits_of
from executor.sources.kind import Kind
from executor.sources.lifecycle import reader, tool_selection
from executor.sources.lifecycle.tool_selection import Selection
from executor.sources.source_request import SourceRequest

SHOWN = 50
GROUPS = 500


@dataclass(frozen=True, slots=True)
class Offered:
    path: str
    description: str
    effect: str


@dataclass(frozen=True, slots=True)
class Group:
    filter: str
    tools: int


@dataclass(frozen=True, slots=True)
class Preview:
    """The first `tools` of the `tool_count` that were chosen of those `offered`. `note` says why there are none yet.

    `groups` are what they can be chosen by: each tag and method, with the number of its tools.
    """

    name: str
    namespace: str
    tool_count: int
    offered: int
    tools: tuple[Offered, ...]
    groups: tuple[Group, ...]
    skipped: tuple[Skipped, ...]
    note: str = ""


async def preview(kind: Kind, request: SourceRequest) -> Preview:
    filters = tool_selection.read_filters(kind, request.choice)
    loaded, error = await reader.first(kind, request)
    packed, chosen = await tool_selection.pack_selected(loaded, filters, strict=not error)
    tools = await asyncio.to_thread(first_of, packed, chosen)
    known = getattr(kind, "filters", ONLY_NAMES)
    groups = await asyncio.to_thread(groups_of, packed, loaded.namespace, known)
    return Preview(loaded.name, loaded.namespace, chosen.count, chosen.offered, tools, groups, loaded.skipped, error)


def first_of(packed: Packed, chosen: Selection) -> tuple[Offered, ...]:
    rows = (row for row in tool_selection.all_rows(packed) if chosen.keeps(row.path))
    return tuple(Offered(row.path, row.description, row.effect) for row in islice(rows, SHOWN))


def groups_of(packed: Packed, namespace: str, known: Sequence[FilterKind]) -> tuple[Group, ...]:
    """By the filter that chooses each; the largest first. Without tags they go by what their names begin with."""
    kinds: set[FilterKind] = {one for one in known if one in ("tag", "method")}
    found: Counter[str] = Counter()
    for row in tool_selection.all_rows(packed):
        traits = traits_of(row, namespace, kinds)
        found.update({f"tag:{tag}" for tag in traits.tags} or group_of(traits.names[0]))
        found.update([f"method:{traits.method}"] if traits.method else [])
    return tuple(Group(name, count) for name, count in found.most_common(GROUPS))


def group_of(name: str) -> list[str]:
    group, _, rest = name.partition(".")
    return [f"{group}.**"] if rest else []
