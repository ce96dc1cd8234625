"""The usual names of what turns pages: in requests, in answers and in their headers. Compared as `plain` gives them."""

from __future__ import annotations

import re
from functools import lru_cache

_SEPARATORS = re.compile(r"[^a-z0-9]")
# Parameters, the best first.
CURSORS = (
    "cursor", "pagetoken", "nexttoken", "nextpagetoken", "continuationtoken", "continuation", "pagecursor",
    "nextcursor", "paginationtoken", "after", "startingafter", "marker", "startcursor", "nextpage", "pagekey",
    "scrollid", "starttoken", "startkey", "exclusivestartkey", "cursormark", "pageafter", "bookmark", "startafter",
    "afterid", "aftercursor", "afterkey", "searchafter", "skiptoken", "pagestate", "paginationcursor",
    "paginationkey", "nextpageid", "nextkey", "nextid", "nextpagecursor", "resumetoken", "lastid", "lastkey",
    "lastevaluatedkey", "endcursor", "startmarker", "continuetoken", "pagingtoken",
)  # fmt: skip
_CURSOR = re.compile(r".*(?:cursor|(?:page|paging|pagination|next|continuation)token|bookmark|scrollid|pagekey)")
_BACKWARDS = re.compile(r"prev|before|ending|until|back|revers")
# Cursors where they are text; numbers of these names count items. The others need an answer that gives a cursor.
TEXT_CURSORS = ("continue", "offset", "pageoffset", "start", "skip", "next", "from", "page", "token", "startat")
UNANSWERED_TEXT_CURSORS = ("continue", "offset", "pageoffset")
# The last item's identifier, where more is said to follow.
AFTER = frozenset({"after", "startingafter", "startafter", "afterid", "lastid", "pageafter", "sinceid", "afterkey"})
LAST_IDS = ("lastid", "lastcursor", "endid", "lastkey", "last")
# Fields of answers. The first speak of the next page only, the others may also be an echo.
NEXT_CURSORS = (
    "nextcursor", "nextpagetoken", "nexttoken", "nextpagecursor", "nextmarker", "nextkey", "nextbookmark",
    "nextcontinuationtoken", "nextpagekey", "nextcursormark", "nextpageid", "nextid", "nextoffset", "nextstart",
    "nextpagestate", "nextskip", "nextscrollid", "nextpaginationtoken", "nextposition", "nextlink", "nextcontinuation",
    "cursornext", "aftercursor", "endcursor", "continuationtoken", "lastevaluatedkey", "continue", "nextpage", "next",
)  # fmt: skip
OTHER_CURSORS = (
    "paginationtoken", "continuation", "bookmark", "scrollid", "cursor", "after", "pagetoken", "marker", "skiptoken",
    "pagestate", "searchafter", "continuetoken", "resumetoken", "pagingtoken",
)  # fmt: skip
NEXT_LINKS = (
    "next", "nextlink", "odatanextlink", "nexturl", "nextpageurl", "nextpage", "nexthref", "nextpagelink",
    "nextpageuri", "nexturi", "nextrecordsurl", "nextpagehref", "nextpagepath", "nextpath", "linknext",
)  # fmt: skip
# Objects that hold such fields, beside or around the list.
_WRAPPER = re.compile(
    r".*(?:meta|metadata|pagination|paging|pageinfo|cursors?)|pag(?:e|ing|ination).*|(?:result|list|query)info|links?"
    r"|next|nextpage|navigation|payload|data|results?|response|search|hal|pageable"
)
# Arrays that are never the list, and arrays that stand beside one.
ASIDE = frozenset({"errors", "error", "warnings", "warning", "notices", "meta", "metadata", "responsemetadata"})
BESIDE = frozenset(
    {"included", "includes", "links", "link", "messages", "extensions", "facets", "aggregations", "fields", "columns"}
)
HOLDERS = ("payload", "data", "result", "results", "response", "embedded", "body", "items", "content", "page", "list")
ITEMS = (
    "items", "data", "results", "values", "records", "entries", "value", "list", "objects", "resources", "rows",
    "content", "elements", "hits", "edges", "nodes", "members", "result",
)  # fmt: skip
# Names that the path of the list outdoes: `threads` of `/threads/search` is meant, not the `members` beside it.
VAGUE_ITEMS = frozenset({"content", "elements", "hits", "edges", "nodes", "members", "result"})
PAGES = (
    "page", "pagenumber", "pageno", "pagenum", "pageindex", "currentpage", "pageidx", "pagenr", "paginationpage",
    "currentpagenumber", "pagepage",
)  # fmt: skip
OFFSETS = (
    "offset", "skip", "startindex", "startat", "pageoffset", "start", "first", "startrow", "firstresult", "from",
    "paginationoffset", "startfrom", "startposition", "skipcount",
)  # fmt: skip
# Names that say nothing without a size beside them.
VAGUE_OFFSETS = frozenset({"start", "first", "from"})
SIZES = (
    "limit", "perpage", "pagesize", "maxresults", "count", "size", "top", "rows", "take", "first", "resultsperpage",
    "pagelimit", "maxitems", "itemsperpage", "paginationlimit", "paginationpagesize", "numresults", "maxrecords",
    "pagecount", "maxpagesize", "pageitems", "maxcount",
)  # fmt: skip


@lru_cache(20_000)
def plain(name: str) -> str:
    return _SEPARATORS.sub("", name.lower())


@lru_cache(20_000)
def cursor_rank(name: str) -> int | None:
    """How good a name (as `plain` gives it) is for the parameter of the next page; None if it is none."""
    if name in CURSORS:
        return CURSORS.index(name)
    return len(CURSORS) if _CURSOR.fullmatch(name) and not _BACKWARDS.search(name) else None


@lru_cache(20_000)
def is_wrapper(name: str) -> bool:
    return _WRAPPER.fullmatch(name) is not None and not _BACKWARDS.search(name)
