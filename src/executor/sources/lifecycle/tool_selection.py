"""Which of the tools that were read are kept: those that the source's choice includes and does not exclude."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterable, Iterator, Sequence

import orjson

from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.model.packed import DefinitionRow, Packed, ToolRow
from executor.model.source import Choice, Loaded
from executor.sources.documents import rows as packing
from executor.sources.filters import ONLY_NAMES, WORDS, Filter, FilterKind, parse_filters, traits_of, values_of
from executor.sources.kind import Kind

NEAR = 5
COMPARED = 3_000  # values that a filter without a match is compared with


@dataclass(frozen=True, slots=True)
class Filters:
    include: tuple[Filter, ...]
    exclude: tuple[Filter, ...]

    @property
    def kinds(self) -> set[FilterKind]:
        return {one.kind for one in (*self.include, *self.exclude)}


@dataclass(frozen=True, slots=True)
class Selection:
    """The paths of the tools that were chosen, how many there are in all, and filters that match none of them.

    Without filters `paths` is None: then every tool is kept.
    """

    paths: frozenset[str] | None
    offered: int
    idle: tuple[Filter, ...] = ()

    @property
    def is_part(self) -> bool:
        return self.paths is not None

    @property
    def count(self) -> int:
        return self.offered if self.paths is None else len(self.paths)

    def keeps(self, path: str) -> bool:
        return self.paths is None or path in self.paths


def read_filters(kind: Kind, choice: Choice) -> Filters:
    """Raises InvalidRequest if a filter makes no sense for this kind of source."""
    known: tuple[FilterKind, ...] = getattr(kind, "filters", ONLY_NAMES)
    return Filters(*(parse_filters(texts, known, kind.name) for texts in (choice.include, choice.exclude)))


async def pack_selected(loaded: Loaded, filters: Filters, *, strict: bool) -> tuple[Packed, Selection]:
    """What was read, and what of it is kept. Unless `strict`, a filter may match nothing now."""

    def work() -> tuple[Packed, Selection]:
        packed = packing.pack(loaded)
        chosen = select(packed, loaded.namespace, filters)
        if strict:
            check_selection(packed, loaded.namespace, chosen)
        return packed, chosen

    return await asyncio.to_thread(work)


def select(packed: Packed, namespace: str, filters: Filters) -> Selection:
    """CPU only: not for the event loop."""
    if not filters.kinds:
        return Selection(None, packed.tool_count)
    chosen, offered, kinds = set[str](), 0, filters.kinds
    idle = dict.fromkeys((*filters.include, *filters.exclude))
    for row in all_rows(packed):
        offered += 1
        traits = traits_of(row, namespace, kinds)
        included = [one for one in filters.include if one.matches(traits)]
        excluded = [one for one in filters.exclude if one.matches(traits)]
        for one in (*included, *excluded):
            idle.pop(one, None)
        if not excluded and (included or not filters.include):
            chosen.add(row.path)
    return Selection(frozenset(chosen), offered, tuple(idle))


def check_selection(packed: Packed, namespace: str, selection: Selection) -> None:
    """A filter that matches nothing is a mistake: one that excludes would let in what it was meant to keep out."""
    if selection.idle:
        raise no_match(packed, namespace, selection.idle[0])
    if selection.is_part and not selection.paths:
        raise InvalidRequest(f"the filters exclude all {selection.offered} tools", hint="include more, or exclude less")


def no_match(packed: Packed, namespace: str, idle: Filter) -> InvalidRequest:
    traits = (traits_of(row, namespace, {idle.kind}) for row in all_rows(packed))
    values = dict.fromkeys(value for one in traits for value in values_of(idle.kind, one)[:8])
    close = near(idle.text.partition(":")[2] or idle.text, values)
    hint = f"similar: {', '.join(close)}" if close else f"the source has no {WORDS[idle.kind]}"
    return InvalidRequest(
        f"the filter {idle.text!r} matches none of the tools", hint=hint, filter=idle.text, near=close
    )


def near(pattern: str, values: Iterable[str]) -> list[str]:
    """By letters, whatever their case; the first few where nothing is close."""
    plain = {one.lower(): one for one in list(values)[:COMPARED]}
    wanted = pattern.replace("*", "").strip("./").lower()
    inside = [one for one in plain if wanted and wanted in one]
    found = [*difflib.get_close_matches(wanted, plain, NEAR, 0.5), *inside] or list(plain)
    return [plain[one] for one in dict.fromkeys(found)][:NEAR]


def reached_definitions(packed: Packed, wanted: Iterable[str]) -> set[str]:
    """Digests of the definitions that tools with these links lead to, however far."""
    links = {row.digest: list(orjson.loads(row.links).values()) for row in all_definitions(packed)}
    found, waiting = set[str](), list(wanted)
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += links.get(one, ())
    return found


def all_rows(packed: Packed) -> Iterator[ToolRow]:
    for number in range(len(packed.tools)):
        yield from packing.tool_rows(packed.tools[number])


def all_definitions(packed: Packed) -> Iterator[DefinitionRow]:
    for number in range(len(packed.definitions)):
        yield from packing.definition_rows_of(packed.definitions[number])


def links_of(rows: Sequence[ToolRow]) -> set[str]:
    return {digest for row in rows for digest in orjson.loads(row.links).values()}
