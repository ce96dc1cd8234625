"""Where a list ends, and how its pages are numbered: what an answer says of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from executor.sources.openapi.pages import WRAPPERS, plain

MORE = ("hasmore", "hasnext", "hasnextpage", "morepages", "hasmoreitems", "moreresultsavailable", "more")
LAST = ("last", "islast", "lastpage", "islastpage")
NUMBERS = ("page", "number", "pagenumber", "currentpage", "pageno", "pagenum", "pageindex", "current")
OFFSETS = ("offset", "startat", "startindex", "start", "skip", "from")
PAGE_COUNTS = ("totalpages", "pagecount", "lastpage", "numpages", "numberofpages", "pagestotal")
TOTALS = (
    "total",
    "totalcount",
    "totalitems",
    "totalresults",
    "totalelements",
    "totalrecords",
    "totalsize",
    "totalhits",
)
HOLDERS = frozenset({*WRAPPERS, "data", "result", "payload", "response", "pageable"})


def says_more(value: Any) -> bool | None:
    """None if the answer does not tell."""
    more = find(value, MORE, is_flag)
    if more is not None:
        return bool(more)
    last = find(value, LAST, is_flag)
    return None if last is None else not last


def stated_page(value: Any) -> int | None:
    found: int | None = find(value, NUMBERS, is_count)
    return found


def stated_offset(value: Any) -> int | None:
    found: int | None = find(value, OFFSETS, is_count)
    return found


def stated_page_count(value: Any) -> int | None:
    found: int | None = find(value, PAGE_COUNTS, is_count)
    return found


def stated_total(value: Any) -> int | None:
    found: int | None = find(value, TOTALS, is_count)
    return found


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def find(value: Any, names: tuple[str, ...], fits: Callable[[Any], bool], depth: int = 0) -> Any:
    """At the top, or inside what usually holds such things."""
    if not isinstance(value, dict) or len(value) > 200:
        return None
    by_plain = {plain(name): part for name, part in value.items() if len(name) < 40}
    for name in names:
        if fits(by_plain.get(name)):
            return by_plain[name]
    inner = [part for name, part in by_plain.items() if name in HOLDERS and isinstance(part, dict)] if depth < 2 else []
    found = (find(part, names, fits, depth + 1) for part in inner)
    return next((one for one in found if one is not None), None)
