"""Lists that come in pages: how the document says that they do, and how the next page is requested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from executor.sources.openapi.documents.document import Document
from executor.sources.openapi.pagination import page_numbers
from executor.sources.openapi.pagination.item_lists import (
    answer_fields,
    at,
    has_id,
    is_object,
    items_of,
    items_path,
    response_of,
)
from executor.sources.openapi.tools.parameters import Parameter
from executor.sources.openapi.tools.responses import ARRAY, STRING, content_schema, types_of
from executor.sources.pagination.ends import LAST, MORE, PAGE_COUNTS, TOTALS
from executor.sources.pagination.names import (
    AFTER,
    LAST_IDS,
    NEXT_CURSORS,
    NEXT_LINKS,
    OTHER_CURSORS,
    TEXT_CURSORS,
    UNANSWERED_TEXT_CURSORS,
    VAGUE_OFFSETS,
    cursor_rank,
    is_wrapper,
    plain,
)
from executor.sources.pagination.page_scheme import PageScheme

NUMBERS = frozenset({"integer", "number", "null"})
OF_PAGES = frozenset({*MORE, *LAST, *PAGE_COUNTS, *TOTALS, "page", "pagenumber", "currentpage", "nextpage"})
Query = dict[str, Parameter]


def pages_of(
    document: Document,
    responses: dict[str, dict[str, Any]],
    parameters: Sequence[Parameter],
    path: str = "",
    fields: Sequence[Parameter] = (),
    *,
    is_read: bool = True,
) -> PageScheme:
    """Empty unless the operation answers with a list and says how to get on.

    `fields` are those of the body. A request that may write is repeated only if its answer speaks of pages: no one
    knows otherwise that it is a search.
    """
    response = response_of(responses)
    form, schema = content_schema(response) if response is not None else ("empty", None)
    if form not in ("json", "any") or schema is None or response is None:
        return {}
    query = {plain(one.name): one for one in parameters if one.place == "query" and not one.content}
    query = {**{plain(one.name): one for one in fields}, **query}
    types = types_of(document, schema)
    if types in ARRAY:
        properties, items = {}, []
    elif types is not None and "object" in types:
        properties = answer_fields(document, schema)
        items = items_path(document, properties, path)
        if not items:
            return {}
    else:
        return {}
    paging = (
        by_answer(document, schema, properties, items, query)
        or (by_address(document, properties) if is_read else {})
        or by_header(document, response, query)
        or by_argument(document, query, properties)
        or (by_link(document, response, query, path) if is_read else {})
    )
    if not paging or (not is_read and not is_search(document, paging, properties)):
        return {}
    if paging["by"] in ("cursor", "next") and is_read:
        paging = with_numbers(paging, by_argument(document, query, properties))
    argument = paging.get("argument")
    in_body = any(one.argument == argument for one in fields)
    place: PageScheme = {"place": "body"} if in_body else {}
    return {**paging, **place, **page_numbers.largest_size(document, query), "items": items}


def with_numbers(paging: PageScheme, other: PageScheme) -> PageScheme:
    """A list may take numbers too: they are what is left where no cursor comes, and first if they have to be given."""
    if not other or other["argument"] == paging.get("argument"):
        return paging
    return other if other.get("required") else {**paging, "otherwise": other}


def is_search(document: Document, paging: PageScheme, properties: dict[str, Any]) -> bool:
    return paging["by"] in ("cursor", "last") or (
        paging["by"] in ("page", "offset") and tells_pages(document, properties)
    )


def by_answer(
    document: Document, schema: Any, properties: dict[str, Any], items: list[str], query: Query
) -> PageScheme:
    if not properties:
        return {}
    cursor = cursor_parameter(document, query, TEXT_CURSORS)
    more = find(document, properties, MORE, frozenset({"boolean", "null"}))
    if cursor is not None:
        # One that has to be given stays an argument: the caller says where the list begins.
        argument: PageScheme = {"argument": cursor.argument, **({"given": True} if cursor.required else {})}
        own = plain(cursor.name)
        found = find(document, properties, NEXT_CURSORS, own=own)
        if not found:
            others = (*OTHER_CURSORS, own) if cursor_rank(own) is not None else OTHER_CURSORS
            found = find(document, properties, others)
        if found:
            return {"by": "cursor", **argument, "from": found}
        found = find(document, properties, LAST_IDS) if more else []
        if found:
            return {"by": "cursor", **argument, "from": found, "more": more[-1]}
        if more and own in AFTER and has_id(document, at(document, schema, items)):
            return {"by": "last", **argument, "more": more[-1]}
    return {}


def by_address(document: Document, properties: dict[str, Any]) -> PageScheme:
    found = find(document, properties, NEXT_LINKS, frozenset({"string", "null"})) or link_list(document, properties)
    return {"by": "next", "from": found} if found else {}


def cursor_parameter(document: Document, query: Query, text: Sequence[str]) -> Parameter | None:
    """The parameter that takes where the next page begins."""
    ranked = sorted(
        (rank, index, one)
        for index, (name, one) in enumerate(query.items())
        if (rank := cursor_rank(name)) is not None and is_cursor(document, one)
    )
    if ranked:
        return ranked[0][2]
    return next((query[name] for name in text if name in query and is_text(document, query[name].schema)), None)


def find(
    document: Document,
    properties: dict[str, Any],
    wanted: Sequence[str],
    usual: frozenset[str] = frozenset({"string", "null", "integer", "number"}),
    own: str = "",
    depth: int = 0,
) -> list[str]:
    """The way to the field that names the next page: at the top, or inside what usually holds such things.

    Inside an object about the next page, the parameter's `own` name is best, and an address is what is left.
    """
    document.visits.spend(len(properties))
    by_plain = plain_names(document, properties)
    for name in wanted:
        if name in by_plain:
            types = types_of(document, properties[by_plain[name]])
            if types is None or types <= usual:
                return [by_plain[name]]
    inside = sorted((name for name in by_plain if is_wrapper(name)), key=wrapper_rank) if depth < 3 else []
    for name in inside:
        inner = properties[by_plain[name]]
        if is_object(document, inner):
            is_next = name in ("next", "nextpage", "nextlink")
            names = (own, *wanted, *OTHER_CURSORS, "href", "url", "uri") if is_next else wanted
            found = find(document, answer_fields(document, inner), names, usual, own, depth + 1)
            if found:
                return [by_plain[name], *found]
    return []


def plain_names(document: Document, properties: dict[str, Any]) -> dict[str, str]:
    """The names of these fields by their plain form: each way to the next page looks for its own among them."""
    known = document.made.get((id(properties), "plain"))
    if known is None:
        known = document.made[(id(properties), "plain")] = (properties, {plain(name): name for name in properties})
    found: dict[str, str] = known[1]
    return found


def wrapper_rank(name: str) -> int:
    """What is about pages before what holds everything."""
    return 1 if name in ("data", "payload", "result", "results", "response", "search") else 0


def link_list(document: Document, properties: dict[str, Any]) -> list[str]:
    """`links: [{rel, href}]`"""
    for name, schema in properties.items():
        if plain(name) in ("links", "link"):
            items = items_of(document, schema)
            if items is not None and {"rel", "href"} <= answer_fields(document, items).keys():
                return [name]
    return []


def by_header(document: Document, response: dict[str, Any], query: Query) -> PageScheme:
    """`X-Next-Cursor` and the like, where the document declares them."""
    headers = response.get("headers")
    for name in headers if isinstance(headers, dict) else ():
        known = plain(str(name)).removeprefix("x")
        known = known.removeprefix("ms") if known.startswith("mscontinuation") else known
        if known not in (*NEXT_CURSORS, "continuation", "cursor", "paginationnextpage", "nextpagenumber"):
            continue
        cursor = cursor_parameter(document, query, TEXT_CURSORS)
        page = page_numbers.page_parameter(document, query, True)
        taker = page if page is not None and "page" in known and cursor is None else cursor or page
        if taker is not None and not taker.required:
            return {"by": "cursor", "argument": taker.argument, "header": str(name)}
    return {}


def by_argument(document: Document, query: Query, properties: dict[str, Any]) -> PageScheme:
    has_page_fields = bool(properties) and tells_pages(document, properties)
    page = page_numbers.page_parameter(document, query, has_page_fields)
    offset = page_numbers.offset_parameter(document, query)
    is_offset_required = offset is not None and offset.required
    if page is not None and (page.required or not is_offset_required):
        return {"by": "page", "argument": page.argument, **page_numbers.first_number(document, page)}
    if offset is None:
        return {}
    following = find(document, properties, NEXT_CURSORS, NUMBERS) if plain(offset.name) in VAGUE_OFFSETS else []
    if following and not offset.required:  # the number of an item, such as the oldest one still to come
        return {"by": "cursor", "argument": offset.argument, "from": following}
    if page_numbers.counts_pages(offset):
        return {"by": "page", "argument": offset.argument, **page_numbers.first_number(document, offset)}
    start = page_numbers.first_page(document, offset.schema, 0)
    required: PageScheme = {"required": True} if offset.required else {}
    return {"by": "offset", "argument": offset.argument, "start": start, **required}


def by_link(document: Document, response: dict[str, Any], query: Query, path: str) -> PageScheme:
    """A list that takes a cursor and does not say where one comes from: it shows when it is read."""
    if tells_links(response):
        return {"by": "link"}
    if path.rstrip("/").endswith("}"):  # one thing, with lists inside
        return {}
    cursor = cursor_parameter(document, query, UNANSWERED_TEXT_CURSORS)
    if cursor is None or cursor.required:
        return {}
    return {"by": "link", "undeclared": True, "argument": cursor.argument}


def is_cursor(document: Document, parameter: Parameter) -> bool:
    types = types_of(document, parameter.schema)
    is_sure = "cursor" in plain(parameter.name)  # others may be filters by date
    usual = {"string", "integer", "number", "null"}
    return (types is None or types <= usual) and (is_sure or not is_date(document, parameter.schema))


def is_text(document: Document, schema: Any) -> bool:
    return types_of(document, schema) in STRING and not is_date(document, schema)


def is_date(document: Document, schema: Any) -> bool:
    schema = document.end_of(schema)
    return isinstance(schema, dict) and str(schema.get("format", "")).startswith("date")


def tells_links(response: dict[str, Any]) -> bool:
    headers = response.get("headers")
    return isinstance(headers, dict) and any(str(name).lower() == "link" for name in headers)


def tells_pages(document: Document, properties: dict[str, Any], depth: int = 0) -> bool:
    """Whether the document lets an answer speak of its page, or of how many there are."""
    document.visits.spend(len(properties))
    for name, schema in properties.items():
        word = plain(name)
        if word in OF_PAGES and "array" not in (types_of(document, schema) or ()) and not is_object(document, schema):
            return True
        inside = depth < 2 and is_wrapper(word) and is_object(document, schema)
        if inside and tells_pages(document, answer_fields(document, schema), depth + 1):
            return True
    return False
