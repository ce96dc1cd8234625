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
LARGEST_PAGE = 500
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
NEXT_LINKS = (
    "next", "nextlink", "odatanextlink", "nexturl", "nextpageurl", "nextpage", "nexthref", "nextpagelink",
    "nextpageuri", "nexturi",
)  # fmt: skip
# Cursors where they are text; numbers of these names count items.
TEXT_CURSORS = ("continue", "offset", "start", "skip")
LAST_IDS = ("lastid",)
WRAPPERS = (
    "responsemetadata", "meta", "metadata", "pagination", "paging", "pageinfo", "page", "cursors", "cursor", "links",
    "next", "nextpage", "pagingmetadata", "paginationinfo", "payload", "data", "result",
)  # fmt: skip
# Arrays that stand beside the list.
ASIDE = frozenset({"errors", "warnings", "included", "notices"})
HOLDERS = ("payload", "data", "result", "results", "response")
_ZERO_BASED = re.compile(
    r"\b(?:zero|0)[- ]?(?:based|indexed)|\b(?:start|begin|count)\w*\s+(?:\w+\s+)?(?:at|from|with)\s+(?:0|zero)\b",
    re.IGNORECASE,
)
_ONE_BASED = re.compile(
    r"\b(?:one|1)[- ]?(?:based|indexed)|\b(?:start|begin|count)\w*\s+(?:\w+\s+)?(?:at|from|with)\s+(?:1|one)\b",
    re.IGNORECASE,
)
_LARGEST = re.compile(
    r"\b(?:between|from)\s+[01]\s+(?:and|to)\s+(\d{1,4})\b"
    r"|\bmax(?:imum)?\.?(?: (?:allowed|page size|value|limit|per page))?(?:\s+is|\s+of|:)?\s+(\d{1,4})\b",
    re.IGNORECASE,
)
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
    if form not in ("json", "any") or schema is None or response is None:
        return {}
    query = {plain(one.name): one for one in parameters if one.place == "query" and not one.content}
    types = types_of(document, schema)
    if types == {"array"}:
        by = by_argument(query) or by_link(document, response, query)
        return {**by, **largest_size(query), "items": []} if by else {}
    if types is None or "object" not in types:
        return {}
    properties, _, _ = object_parts(document, schema)
    items = items_path(document, properties)
    if not items:
        return {}
    by = by_answer(document, properties, query) or by_argument(query)
    if not by and tells_links(document, response):
        by = {"by": "link"}
    return {**by, **largest_size(query), "items": items} if by else {}


def items_path(document: Document, properties: dict[str, Any]) -> list[str]:
    """The way to the list: a field of the answer, or of the one object that holds all the rest."""
    found = items_field(document, properties)
    if found is not None:
        return [found]
    for name in properties:
        if plain(name) in HOLDERS and types_of(document, properties[name]) in ({"object"}, {"object", "null"}):
            inner = items_field(document, object_parts(document, properties[name])[0])
            if inner is not None:
                return [name, inner]
    return []


def items_field(document: Document, properties: dict[str, Any]) -> str | None:
    arrays = [name for name, schema in properties.items() if types_of(document, schema) == {"array"}]
    if not arrays:
        arrays = [name for name, schema in properties.items() if types_of(document, schema) == {"array", "null"}]
    if len(arrays) > 1:
        arrays = [name for name in arrays if plain(name) not in ASIDE]
    if len(arrays) == 1:
        return arrays[0]
    named = next((name for wanted in ITEMS for name in arrays if plain(name) == wanted), None)
    of_objects = [name for name in arrays if holds_objects(document, properties[name])]
    return named or (of_objects[0] if len(of_objects) == 1 else None)


def holds_objects(document: Document, schema: Any) -> bool:
    try:
        schema = document.follow(schema)
    except UnresolvedRef:
        return False
    return isinstance(schema, dict) and types_of(document, schema.get("items")) == {"object"}


def by_answer(document: Document, properties: dict[str, Any], query: dict[str, Parameter]) -> dict[str, Any]:
    cursor = next((query[name] for name in CURSORS if name in query), None)
    cursor = cursor or next(
        (query[name] for name in TEXT_CURSORS if name in query and is_text(query[name].schema)), None
    )
    has_more = next((name for name in properties if plain(name) == "hasmore"), None)
    if cursor is not None and plain(cursor.name) == "startingafter" and has_more:
        return {"by": "last", "argument": cursor.argument, "more": has_more}
    if cursor is not None:
        found = find(document, properties, (*NEXT_CURSORS, plain(cursor.name)))
        if found:
            return {"by": "cursor", "argument": cursor.argument, "from": found}
        found = find(document, properties, LAST_IDS) if has_more else []
        if found:
            return {"by": "cursor", "argument": cursor.argument, "from": found, "more": has_more}
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


def size_parameter(query: dict[str, Parameter]) -> Parameter | None:
    return next((query[name] for name in SIZES if name in query), None)


def by_argument(query: dict[str, Parameter]) -> dict[str, Any]:
    size = size_parameter(query)
    for name in PAGES:
        if name in query and is_number(query[name].schema):
            return {"by": "page", "argument": query[name].argument, **first_number(query[name])}
    for name in OFFSETS:
        if name in query and is_number(query[name].schema) and size is not None and size is not query[name]:
            return {"by": "offset", "argument": query[name].argument, "start": first_page(query[name].schema, 0)}
    return {}


def largest_size(query: dict[str, Parameter]) -> dict[str, Any]:
    """How many items to ask for at once, if the document says how many a page may have."""
    size = size_parameter(query)
    if size is None or not isinstance(size.schema, dict) or not is_number(size.schema):
        return {}
    most = size.schema.get("maximum")
    if not isinstance(most, int) or isinstance(most, bool):
        told = _LARGEST.search(f"{size.description} {size.schema.get('description', '')}")
        most = int(next(filter(None, told.groups()))) if told else 0
    return {"size": {size.argument: min(most, LARGEST_PAGE)}} if most > 1 else {}


def by_link(document: Document, response: dict[str, Any], query: dict[str, Parameter]) -> dict[str, Any]:
    """A list that takes a cursor and does not say where one comes from has it in `Link`, if anywhere."""
    if tells_links(document, response):
        return {"by": "link"}
    return {"by": "link", "undeclared": True} if any(name in query for name in CURSORS) else {}


def first_number(parameter: Parameter) -> dict[str, Any]:
    """`guessed` where neither the schema nor the description says if pages are counted from 0 or from 1."""
    schema = parameter.schema
    text = f"{parameter.description} {schema.get('description', '') if isinstance(schema, dict) else ''}"
    told = first_page(schema, -1)
    if told < 0:
        told = 0 if _ZERO_BASED.search(text) else 1 if _ONE_BASED.search(text) else -1
    return {"start": told} if told >= 0 else {"start": 1, "guessed": True}


def is_text(schema: Any) -> bool:
    types = schema.get("type") if isinstance(schema, dict) else None
    return types == "string" or (isinstance(types, list) and "string" in types)


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
        for name in path:
            schema = object_parts(document, schema)[0].get(name)
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
