"""Changed tools of a server wait until a person has looked at them.

A server may list a harmless tool, wait until people allow it, and then mean something else by the same name. So a
change of a tool that writes is not taken over when the source is read. The definition that people know stays; the tool
is not called meanwhile, unless only the words about it are others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import field, replace
from typing import cast

from executor.dataclass import dataclass
from executor.model.packed import ToolRow
from executor.model.source import REVIEW, ReviewMode, Source
from executor.sources.kind import Kind
from executor.storage.catalog.tool_reviews import Review, definition_digest

MAX_REMEMBERED = 10_000  # tools of one source that are gone


@dataclass(frozen=True, slots=True)
class Reviewed:
    """`rows` are what the source offers from now on, under its own names. `reviews` are all that are open or kept."""

    rows: list[ToolRow]
    reviews: dict[str, Review] = field(default_factory=dict)


def mode_of(kind: Kind, source: Source) -> ReviewMode:
    """A kind whose tools can change without anyone's doing has a `review` of its own, for sources that don't say."""
    default = getattr(kind, REVIEW, None)
    return "none" if default is None else cast("ReviewMode", source.known_keys.get(REVIEW, default))


def review_changes(
    mode: ReviewMode, present: Sequence[ToolRow], offered: Sequence[ToolRow], known: Mapping[str, Review], now: int
) -> Reviewed:
    """All rows under the source's own names. `present` are the definitions in use: those that people know."""
    if mode == "none":
        return Reviewed(list(offered))
    in_use = {row.path: row._replace(held=False) for row in present}
    gone = {path: one for path, one in known.items() if path not in in_use and one.before is not None}
    listed = {row.path for row in offered}
    found = Reviewed([], remember_lost(mode, in_use, gone, listed, now))
    is_full = len(found.reviews) > MAX_REMEMBERED
    for row in offered:
        before = in_use.get(row.path) or (gone[row.path].before if row.path in gone else None)
        if not is_change(mode, before, row, is_full=is_full):
            found.rows.append(row)
            continue
        review = found.reviews[row.path] = open_review(before, row, known.get(row.path), now)
        if before is not None:
            found.rows.append(before._replace(held=review.refuses))
    return found


def remember_lost(
    mode: ReviewMode, in_use: Mapping[str, ToolRow], gone: Mapping[str, Review], listed: Set[str], now: int
) -> dict[str, Review]:
    """A tool that is taken away and comes back as something else has changed."""
    kept = {path: Review(path, one.before, None, one.since) for path, one in gone.items() if path not in listed}
    lost = {path: row for path, row in in_use.items() if path not in listed and is_reviewed(mode, row)}
    return kept | {path: Review(path, row, None, now) for path, row in lost.items()}


def is_change(mode: ReviewMode, before: ToolRow | None, offered: ToolRow, *, is_full: bool) -> bool:
    """A server that took away more tools than are remembered may bring any of them back: then new ones wait too."""
    if before is None:
        return is_full and is_reviewed(mode, offered)
    return definition_digest(before) != definition_digest(offered) and is_reviewed(mode, before, offered)


def open_review(before: ToolRow | None, offered: ToolRow, earlier: Review | None, now: int) -> Review:
    """One that waits already keeps its time."""
    fresh = Review(offered.path, before, offered, now)
    is_same = earlier is not None and earlier.digest == fresh.digest
    return replace(fresh, since=earlier.since) if earlier is not None and is_same else fresh


def is_reviewed(mode: ReviewMode, *rows: ToolRow) -> bool:
    """By what Executor takes a tool for, before or after: no server talks its way around it."""
    return mode == "all" or (mode == "writes" and any(row.effect != "read" for row in rows))


def newly_held(known: Mapping[str, Review], reviews: Mapping[str, Review]) -> list[str]:
    """Those that wait since this reading."""
    return sorted(
        path
        for path, one in reviews.items()
        if one.is_pending and (path not in known or known[path].digest != one.digest)
    )
