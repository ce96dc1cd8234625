"""The lists of a document that come in pages: found by the checker's own eyes, not by those of what it checks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .documents import Document
from .replies import is_json, success, swagger_content

# Compared in lower case, without separators.
TURNS = re.compile(
    r".*(cursor|continuation(token)?|marker|bookmark|scrollid|pagetoken|paginationtoken|nexttoken|starttoken|pagekey|skiptoken)"
    r"|continue|nextpage|\$?skip|(page)?offset|(starting|page|search|id)?after(id|key)?|(exclusive)?startkey|lastid"
    r"|start(index|at|row)?|(current|pagination)?page|page(number|no|num|index|idx)|first(result|item)"
)
TELLS = re.compile(
    r"(.*\W)?(odata)?next(page|link|url|uri|href|cursor|token|marker|key|offset|bookmark|id)?(token|url|uri|link|cursor)?"
    r"|has(more|next|nextpage|moreitems)|more|islast(page)?|(total|num)pages|pagecount|(current|last)page"
    r"|.*(cursor|continuationtoken|pagetoken|paginationtoken|scrollid)|continue|marker|bookmark"
)
ASIDE = re.compile(r"errors?|warnings?|messages|notices|included|.*links|.*meta|.*metadata")
HOLDERS = re.compile(r"payload|data|results?|response|embedded")
INSIDE = re.compile(r".*(meta|pag|cursor|link|next|info).*|payload|data|results?|response")
DEPTH = 4


@dataclass
class PagedList:
    method: str
    path: str
    turns: list[str]  # parameters, or fields of the body, that choose the page
    tells: list[tuple[str, ...]]  # ways to the fields of the answer that speak of the next page
    arrays: list[tuple[str, ...]]  # ways to the arrays of the answer
    schema: Any
    parameters: list[dict[str, Any]] = field(default_factory=list)
    body: dict[str, Any] = field(default_factory=dict)  # properties of the body of a POST
    has_link: bool = False


def turns_page(document: Document, parameter: dict[str, Any]) -> bool:
    """`start` and the like may be dates, `usemarker` is a switch."""
    schema = document.follow(parameter.get("schema", parameter))
    schema = schema if isinstance(schema, dict) else {}
    is_other = str(schema.get("format", "")).startswith("date") or schema.get("type") == "boolean"
    return TURNS.fullmatch(plain(str(parameter["name"]))) is not None and not is_other


def plain(name: str) -> str:
    return re.sub(r"[^a-z0-9$]", "", name.lower())


def paged_lists(document: Document) -> Iterator[PagedList]:
    """GETs, and POSTs that take what turns a page, whose answer has a list and which have a parameter or an answer of
    pages."""
    for method, path, operation, item in document.operations():
        if method in ("GET", "POST", "QUERY"):
            found = paged_list(document, method, path, operation, item)
            if found is not None:
                yield found


def paged_list(document: Document, method: str, path: str, operation: Any, item: Any) -> PagedList | None:
    schema, response = answer_of(document, operation)
    arrays = list(arrays_in(document, schema, wanted=frozenset(plain(word) for word in path.split("/"))))
    if not arrays:
        return None
    raw = [document.follow(one) for one in [*(item.get("parameters") or []), *(operation.get("parameters") or [])]]
    parameters = [one for one in raw if isinstance(one, dict)]
    turns = [str(one["name"]) for one in parameters if one.get("in") == "query" and turns_page(document, one)]
    body = properties(document, body_schema(document, operation, parameters)) if method != "GET" else {}
    in_body = [name for name in body if TURNS.fullmatch(plain(name))]
    top = {} if () in arrays else properties(document, schema)
    is_marked = any(plain(name) == "next" and is_number(document, part) for name, part in top.items())
    turns += [str(one["name"]) for one in parameters if one.get("name") == "from" and is_marked]
    headers = response.get("headers")
    has_link = isinstance(headers, dict) and any(str(name).lower() == "link" for name in headers)
    tells = [] if () in arrays else list(tells_in(document, schema))
    tells += [(name,) for name in top if plain(name) == "lastid" and name in turns and (name,) not in tells]
    is_paged = turns or has_link or tells if method == "GET" else (turns or in_body) and (tells or has_link)
    is_one = path.rstrip("/").endswith("}") and () not in arrays and not (turns and tells)  # with lists inside
    if not is_paged or is_one:
        return None
    return PagedList(method, path, [*turns, *in_body], tells, arrays, schema, parameters, body, has_link)


def answer_of(document: Document, operation: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    _, response = success(document, operation)
    content = swagger_content(document, operation, response) if document.is_swagger else response.get("content")
    for media_type, media in content.items() if isinstance(content, dict) else ():
        media = document.follow(media)
        if is_json(media_type) and isinstance(media, dict):
            return media.get("schema"), response
    return None, response


def body_schema(document: Document, operation: dict[str, Any], parameters: list[dict[str, Any]]) -> Any:
    if document.is_swagger:
        return next((one.get("schema") for one in parameters if one.get("in") == "body"), None)
    body = document.follow(operation.get("requestBody"))
    content = body.get("content") if isinstance(body, dict) else None
    for media_type, media in content.items() if isinstance(content, dict) else ():
        media = document.follow(media)
        if is_json(media_type) and isinstance(media, dict):
            return media.get("schema")
    return None


def properties(document: Document, schema: Any, depth: int = 0) -> dict[str, Any]:
    """Of a schema and what it is composed of; of alternatives, those of each."""
    schema = document.follow(schema)
    if not isinstance(schema, dict) or depth > 6:
        return {}
    found = dict(schema["properties"]) if isinstance(schema.get("properties"), dict) else {}
    for keyword in ("allOf", "oneOf", "anyOf"):
        for part in schema.get(keyword) or ():
            found = {**properties(document, part, depth + 1), **found}
    return found


def is_number(document: Document, schema: Any) -> bool:
    schema = document.follow(schema)
    types = schema.get("type") if isinstance(schema, dict) else None
    return any(one in ("integer", "number") for one in (types if isinstance(types, list) else [types]))


def is_array(document: Document, schema: Any, depth: int = 0) -> bool:
    schema = document.follow(schema)
    if not isinstance(schema, dict) or depth > 6:
        return False
    types = schema.get("type")
    if (
        types == "array"
        or (isinstance(types, list) and "array" in types)
        or (types is None and isinstance(schema.get("items"), dict))
    ):
        return True
    parts = (part for word in ("allOf", "oneOf", "anyOf") for part in schema.get(word) or ())
    return any(is_array(document, part, depth + 1) for part in parts)


def arrays_in(
    document: Document, schema: Any, way: tuple[str, ...] = (), wanted: frozenset[str] = frozenset()
) -> Iterator[tuple[str, ...]]:
    """The way to each array: the answer itself, a field of it, or a field of a wrapper. What the path names (`wanted`)
    never stands aside."""
    if not way and is_array(document, schema):
        yield ()
        return
    inside = properties(document, schema)
    named = [name for name in inside if plain(name) in wanted or not ASIDE.fullmatch(plain(name))]
    direct = [name for name in named if is_array(document, inside[name])]
    yield from ((*way, name) for name in direct)
    if not direct and not way:
        for name, part in inside.items():
            if HOLDERS.fullmatch(plain(name)) or len(inside) == 1:
                yield from arrays_in(document, part, (name,), wanted)


def tells_in(document: Document, schema: Any, way: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if len(way) >= DEPTH:
        return
    for name, part in properties(document, schema).items():
        part = document.follow(part)
        if is_array(document, part):
            continue
        inside = properties(document, part)
        if inside:
            if INSIDE.fullmatch(plain(name)):
                yield from tells_in(document, part, (*way, name))
        elif TELLS.fullmatch(plain(name)) or (way and plain(way[-1]) in ("next", "nextpage", "cursors")):
            yield (*way, name)
