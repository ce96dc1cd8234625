"""Lists that come in pages: how the document tells that they do, and how the next page is asked for."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from executor.model.tool import Schema
from executor.sources.openapi.answers import content_schema, object_parts, types_of
from executor.sources.openapi.document import Document, UnresolvedRef
from executor.sources.openapi.parameters import Parameter

_SEPARATORS = re.compile(r"[^a-z0-9]")
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
# Compared without case and separators.
CURSORS = (
    "cursor", "pagetoken", "nexttoken", "nextpagetoken", "continuationtoken", "continuation", "pagecursor",
    "nextcursor",
    "after", "startingafter", "marker", "startcursor", "nextpage", "pagekey", "scrollid", "starttoken", "startkey",
    "exclusivestartkey", "since", "cursormark", "pageafter", "bookmark",
)  # fmt: skip
NEXT_CURSORS = (
    "nextcursor", "nextpagetoken", "nexttoken", "nextpagecursor", "endcursor", "continuationtoken", "nextmarker",
    "nextpage", "nextkey", "nextbookmark", "bookmark", "scrollid", "cursor", "next", "after", "continuation",
    "lastevaluatedkey", "nextcontinuationtoken", "nextpagekey", "pagetoken", "marker", "nextcursormark",
)  # fmt: skip
NEXT_LINKS = ("next", "nextlink", "odatanextlink", "nexturl", "nextpageurl", "nextpage", "nexthref", "nextpagelink")
WRAPPERS = (
    "responsemetadata", "meta", "metadata", "pagination", "paging", "pageinfo", "page", "cursors", "cursor", "links",
    "next", "nextpage", "pagingmetadata", "paginationinfo",
)  # fmt: skip
ITEMS = ("items", "data", "results", "values", "records", "entries", "value", "list", "objects", "resources", "rows")
PAGES = ("page", "pagenumber", "pageno", "pagenum", "pageindex", "currentpage")
OFFSETS = ("offset", "skip", "startindex", "startat", "start", "first")
SIZES = (
    "limit",
    "perpage",
    "pagesize",
    "maxresults",
    "count",
    "size",
    "top",
    "rows",
    "take",
    "first",
    "resultsperpage",
)


@lru_cache(20_000)
def plain(name: str) -> str:
    return _SEPARATORS.sub("", name.lower())


def pages_of(document: Document, responses: dict[str, dict[str, Any]], parameters: list[Parameter]) -> dict[str, Any]:
    """Empty unless the operation answers with a list and tells how to get on."""
    response = responses.get("200") or next(iter(responses.values()), None)
    form, schema = content_schema(response) if response is not None else ("empty", None)
    if form != "json" or response is None:
        return {}
    query = {plain(one.name): one for one in parameters if one.place == "query" and not one.content}
    types = types_of(document, schema)
    if types == {"array"}:
        by = by_argument(query) or ({"by": "link"} if tells_links(document, response) else {})
        return {**by, "items": []} if by else {}
    if types is None or "object" not in types:
        return {}
    properties, _, _ = object_parts(document, schema)
    items = items_field(document, properties)
    if items is None:
        return {}
    by = by_answer(document, properties, query) or by_argument(query)
    if not by and tells_links(document, response):
        by = {"by": "link"}
    return {**by, "items": [items]} if by else {}


def items_field(document: Document, properties: dict[str, Any]) -> str | None:
    arrays = [name for name, schema in properties.items() if types_of(document, schema) == {"array"}]
    if len(arrays) == 1:
        return arrays[0]
    return next((name for wanted in ITEMS for name in arrays if plain(name) == wanted), None)


def by_answer(document: Document, properties: dict[str, Any], query: dict[str, Parameter]) -> dict[str, Any]:
    cursor = next((query[name] for name in CURSORS if name in query), None)
    has_more = next((name for name in properties if plain(name) == "hasmore"), None)
    if cursor is not None and plain(cursor.name) == "startingafter" and has_more:
        return {"by": "last", "argument": cursor.argument, "more": has_more}
    if cursor is not None:
        found = find(document, properties, NEXT_CURSORS)
        if found:
            return {"by": "cursor", "argument": cursor.argument, "from": found}
    found = find(document, properties, NEXT_LINKS, text_only=True)
    return {"by": "next", "from": found} if found else {}


def find(
    document: Document, properties: dict[str, Any], wanted: tuple[str, ...], *, text_only: bool = False, depth: int = 0
) -> list[str]:
    """The way to the field that tells of the next page: at the top, or inside what usually holds such things."""
    document.visits.spend(len(properties))
    by_plain = {plain(name): name for name in properties}
    for name in wanted:
        if name in by_plain:
            types = types_of(document, properties[by_plain[name]])
            usual = {"string", "null"} if text_only else {"string", "null", "integer", "number"}
            if types is None or types <= usual:
                return [by_plain[name]]
    for name in WRAPPERS if depth < 3 else ():
        inner = properties.get(by_plain.get(name, ""))
        if inner is not None and types_of(document, inner) in ({"object"}, {"object", "null"}):
            found = find(
                document, object_parts(document, inner)[0], (*wanted, "href"), text_only=text_only, depth=depth + 1
            )
            if found:
                return [by_plain[name], *found]
    return []


def by_argument(query: dict[str, Parameter]) -> dict[str, Any]:
    size = next((query[name] for name in SIZES if name in query), None)
    for name in PAGES:
        if name in query and is_number(query[name].schema):
            return {"by": "page", "argument": query[name].argument, "start": first_page(query[name].schema)}
    for name in OFFSETS:
        if name in query and is_number(query[name].schema) and size is not None and size is not query[name]:
            return {"by": "offset", "argument": query[name].argument, "start": first_page(query[name].schema, 0)}
    return {}


def is_number(schema: Any) -> bool:
    types = schema.get("type") if isinstance(schema, dict) else None
    return types in ("integer", "number") or (
        isinstance(types, list) and bool({"integer", "number"} & set(map(str, types)))
    )


def first_page(schema: Any, otherwise: int = 1) -> int:
    for key in ("default", "minimum"):
        value = schema.get(key) if isinstance(schema, dict) else None
        if isinstance(value, int) and value in (0, 1):
            return value
    return otherwise


def tells_links(document: Document, response: dict[str, Any]) -> bool:
    headers = response.get("headers")
    return isinstance(headers, dict) and any(str(name).lower() == "link" for name in headers)


def item_schema(document: Document, responses: dict[str, dict[str, Any]], path: list[str]) -> Any:
    """The raw schema of one item, for the answer's type."""
    response = responses.get("200") or next(iter(responses.values()), {})
    _, schema = content_schema(response)
    try:
        if path:
            schema = object_parts(document, schema)[0].get(path[0])
        schema = document.follow(schema)
        if isinstance(schema, dict) and isinstance(schema.get("items"), dict):
            return schema["items"]
    except UnresolvedRef:
        pass
    return {}


def all_input(shown: Schema, paging: dict[str, Any]) -> Schema | None:
    """None if the operation has arguments of the same names as the limits."""
    properties = dict(shown["properties"])
    if LIMITS.keys() & properties.keys():
        return None
    properties.pop(paging.get("argument", ""), None)
    required = [name for name in shown.get("required", []) if name in properties]
    schema: Schema = {"type": "object", "properties": {**properties, **LIMITS}, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def all_output(items: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": items},
            "pages": {"type": "integer"},
            "complete": {"type": "boolean", "description": "False if a limit was reached before the last page"},
        },
        "required": ["items", "pages", "complete"],
    }
