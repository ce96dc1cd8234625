"""All pages of a list: the loop that asks for one after the other, and its bounds."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from executor.network.client import Answer
from executor.sources.pagination.all_tool import DEFAULT_ITEMS, DEFAULT_PAGES
from executor.sources.pagination.page_walk import Following, Walk

MAX_SECONDS = 120.0
MAX_BYTES = 7_000_000
Place = dict[str, Any] | str  # the arguments or the address of a page


async def walk_pages(
    walk: Walk, arguments: dict[str, Any], turn: Callable[[Place], Awaitable[tuple[Answer, Following]]]
) -> str:
    """`{items, pages, complete, reason?}` as JSON. `turn` asks for a page, and gives it with where the next one is."""
    max_pages = int(arguments.get("maxPages") or DEFAULT_PAGES)
    max_items = int(arguments.get("maxItems") or DEFAULT_ITEMS)
    size, started = 0, time.monotonic()
    following: Following = walk.begin()
    while following is not None and not (limit := reached_limit(walk, max_pages, max_items, size, started)):
        answer, following = await turn(following)
        size += len(answer.body)
    if following is not None:
        walk.stop(limit)
    elif len(walk.items) > max_items:
        walk.complete, walk.reason = False, f"there are more than {max_items:,} items: raise `maxItems`"
    why = {} if walk.complete else {"reason": walk.reason}
    found = {"items": walk.items[:max_items], "pages": walk.pages, "complete": walk.complete, **why}
    return orjson.dumps(found).decode()


def reached_limit(walk: Walk, max_pages: int, max_items: int, size: int, started: float) -> str:
    """Why no further page is requested; empty if one may be."""
    if walk.pages >= max_pages:
        return f"stopped after {max_pages:,} pages: raise `maxPages`, or request less"
    if len(walk.items) >= max_items:
        return f"stopped at {max_items:,} items: raise `maxItems`, or request less"
    if size > MAX_BYTES:
        return f"stopped after {size:,} bytes: request less, with a filter or in parts"
    if time.monotonic() - started > MAX_SECONDS:
        return f"stopped after {MAX_SECONDS:.0f} seconds: request less, with a filter or in parts"
    return ""
