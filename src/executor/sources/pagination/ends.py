"""Where a list ends, and how its pages are numbered: what an answer says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from executor.sources.pagination.names import NEXT_CURSORS, NEXT_LINKS, OTHER_CURSORS, is_wrapper, plain

MORE = (
    "hasmore",
    "hasnext",
    "hasnextpage",
    "morepages",
    "hasmoreitems",
    "moreresultsavailable",
    "moreavailable",
    "more",
)
LAST = ("last", "islast", "lastpage", "islastpage", "islastpart", "end", "isend", "done", "eof")
NUMBERS = ("page", "number", "pagenumber", "currentpage", "pageno", "pagenum", "pageindex", "current")
OFFSETS = ("offset", "startat", "startindex", "start", "skip", "from")
PAGE_COUNTS = ("totalpages", "pagecount", "numpages", "numberofpages", "pagestotal", "pages", "totalpagecount")
LAST_PAGES = ("lastpage", "lastpagenumber")
TOTAL_HEADERS = ("X-Total-Count", "X-Total", "Total-Count", "X-WP-Total", "X-Pagination-Total-Count")
TOTALS = (
    "total", "totalcount", "totalitems", "totalresults", "totalelements", "totalrecords", "totalsize", "totalhits",
    "totalrows", "totalentries", "odatacount", "totalresultscount", "totalresultsize", "numfound",
    "itemstotal", "totalitemcount",
)  # fmt: skip
NEXT = frozenset({*NEXT_CURSORS, *NEXT_LINKS})


def says_more(value: Any) -> bool | None:
    """None if the answer does not say."""
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


def stated_page_count(value: Any, from_zero: bool = False) -> int | None:
    """The number of the last page is one less than their count where the first is 0."""
    found: int | None = find(value, PAGE_COUNTS, is_count)
    if found is None:
        found = find(value, LAST_PAGES, is_count)
        return found + 1 if found is not None and from_zero else found
    return found


def stated_total(value: Any, headers: Mapping[str, str]) -> int | None:
    found: int | None = find(value, TOTALS, is_count)
    if found is None:
        stated = next((headers[name] for name in TOTAL_HEADERS if name in headers), "")
        found = int(stated) if stated.isdecimal() and len(stated) < 16 else None
    return found


def stated_cursor(value: Any, own: str) -> str | int | None:
    """Where the next page begins, in an answer whose document says nothing of it. `own` is the parameter's name."""
    inside = find(value, ("nextpage", "next"), lambda part: isinstance(part, dict) and bool(part))
    names = (plain(own), *NEXT_CURSORS, *OTHER_CURSORS) if inside else (*NEXT_CURSORS, *OTHER_CURSORS)
    found: str | int | None = find(inside or value, names, is_cursor)
    return found


def says_no_next(value: Any, depth: int = 0) -> bool:
    """Whether there is a field for the next page that is empty."""
    if not isinstance(value, dict) or len(value) > 200:
        return False
    for name, part in value.items():
        bare = plain(name) if len(name) < 40 else ""
        if bare in NEXT and part in (None, "", 0, "0", {}):
            return True
        if depth < 2 and isinstance(part, dict) and is_wrapper(bare) and says_no_next(part, depth + 1):
            return True
    return False


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_cursor(value: Any) -> bool:
    return (isinstance(value, str) and value not in ("", "0")) or (is_count(value) and value > 0)


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
    inner = (
        [part for name, part in by_plain.items() if isinstance(part, dict) and is_wrapper(name)] if depth < 2 else []
    )
    found = (find(part, names, fits, depth + 1) for part in inner)
    return next((one for one in found if one is not None), None)
