"""All pages of a list: the arguments and the result of the tools that read them, and the loop with its bounds."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from executor.model.tool import Schema
from executor.sources.egress import Answer
from executor.sources.openapi.page_walk import Following, Walk

DEFAULT_PAGES = 20
DEFAULT_ITEMS = 1_000
MAX_PAGES = 500
MAX_ITEMS = 20_000
LIMITS: dict[str, Schema] = {
    "maxPages": {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_PAGES,
        "description": f"Ask for at most this many pages ({DEFAULT_PAGES})",
    },
    "maxItems": {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_ITEMS,
        "description": f"Stop at this many items ({DEFAULT_ITEMS})",
    },
}
MAX_SECONDS = 120.0
MAX_BYTES = 7_000_000
Place = dict[str, Any] | str  # the arguments or the address of a page


def all_input(shown: Schema, paging: dict[str, Any], body_argument: str = "") -> Schema | None:
    """None if the operation has arguments of the same names as the limits. Fields of a body stand for it."""
    properties = dict(shown["properties"])
    if LIMITS.keys() & properties.keys():
        return None
    if not paging.get("given"):
        properties.pop(paging.get("argument", ""), None)
    properties.pop(paging.get("otherwise", {}).get("argument", ""), None)
    properties.pop(body_argument, None)
    required = [name for name in shown.get("required", []) if name in properties]
    schema: Schema = {"type": "object", "properties": {**properties, **LIMITS}, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def all_output(items: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": items},
            "pages": {"type": "integer"},
            "complete": {"type": "boolean", "description": "True if these are all items of the list"},
            "reason": {"type": "string", "description": "Why `complete` is false, and what to do"},
        },
        "required": ["items", "pages", "complete"],
    }


async def walk_pages(
    walk: Walk, arguments: dict[str, Any], turn: Callable[[Place], Awaitable[tuple[Answer, Following]]]
) -> str:
    """`{items, pages, complete, reason?}` as JSON. `turn` asks for a page, and gives it with where the next one is."""
    max_pages = int(arguments.get("maxPages") or DEFAULT_PAGES)
    max_items = int(arguments.get("maxItems") or DEFAULT_ITEMS)
    size, started = 0, time.monotonic()
    following: Following = walk.begin()
    while following is not None and not (limit := reached(walk, max_pages, max_items, size, started)):
        answer, following = await turn(following)
        size += len(answer.body)
    if following is not None:
        walk.stop(limit)
    elif len(walk.items) > max_items:
        walk.complete, walk.reason = False, f"there are more than {max_items:,} items: raise `maxItems`"
    why = {} if walk.complete else {"reason": walk.reason}
    found = {"items": walk.items[:max_items], "pages": walk.pages, "complete": walk.complete, **why}
    return orjson.dumps(found).decode()


def reached(walk: Walk, max_pages: int, max_items: int, size: int, started: float) -> str:
    """Why no further page is asked for; empty if one may be."""
    if walk.pages >= max_pages:
        return f"stopped after {max_pages:,} pages: raise `maxPages`, or ask for less"
    if len(walk.items) >= max_items:
        return f"stopped at {max_items:,} items: raise `maxItems`, or ask for less"
    if size > MAX_BYTES:
        return f"stopped after {size:,} bytes: ask for less, with a filter or in parts"
    if time.monotonic() - started > MAX_SECONDS:
        return f"stopped after {MAX_SECONDS:.0f} seconds: ask for less, with a filter or in parts"
    return ""
