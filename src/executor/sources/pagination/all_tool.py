"""The arguments and the result of a tool that reads all pages of a list."""

from __future__ import annotations

from executor.model.tool import Schema
from executor.sources.pagination.page_scheme import PageScheme

DEFAULT_PAGES = 20
DEFAULT_ITEMS = 1_000
MAX_PAGES = 500
MAX_ITEMS = 20_000
LIMITS: dict[str, Schema] = {
    "maxPages": {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_PAGES,
        "description": f"Request at most this many pages ({DEFAULT_PAGES})",
    },
    "maxItems": {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_ITEMS,
        "description": f"Stop at this many items ({DEFAULT_ITEMS})",
    },
}


def all_input(shown: Schema, paging: PageScheme, body_argument: str = "") -> Schema | None:
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
