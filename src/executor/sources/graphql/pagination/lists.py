"""Lists that come in pages: which fields return them, and how the next page is requested.

Relay connections (`first`, `after`, `pageInfo`) at a root field, or one level below a root field that gives one object;
and plain lists whose arguments count items or pages.
"""

from __future__ import annotations

import re

from executor.dataclass import dataclass
from executor.model.tool import Schema
from executor.sources.graphql.relevance import is_selectable
from executor.sources.graphql.schema.outline import Argument, Field, NamedType, Outline, inner_name, is_list
from executor.sources.graphql.selection import Selections
from executor.sources.pagination.page_scheme import PageScheme

CURSOR, SIZE = "after", "first"
BACKWARD = ("before", "last")
OFFSETS = ("offset", "skip")
PAGES = ("page", "pageNumber", "pageIndex")
SIZES = ("limit", "first", "take", "perPage", "per_page", "pageSize", "size", "count")
ITEMS = ("items", "data", "results", "nodes", "records", "entries")
TOTAL = "totalCount"
PAGE_INFO = "pageInfo{hasNextPage endCursor}"
FIRST_SIZE = 100
LARGEST_SIZE = 250
MAX_NAMED = 60
_LARGEST = re.compile(
    r"\bmax(?:imum)?\b\D{0,30}?(\d{1,4})\b|\bup to (\d{1,4})\b|\bat most (\d{1,4})\b|\blimit of (\d{1,4})\b", re.I
)
RELAY: PageScheme = {
    "by": "cursor",
    "argument": CURSOR,
    "from": ["pageInfo", "endCursor"],
    "items": ["nodes"],
}


@dataclass(frozen=True, slots=True)
class ListView:
    """What a tool that reads all pages selects on its own, and the schema of one item."""

    paging: PageScheme
    selection: str
    items: Schema


def list_of(field: Field, selections: Selections) -> ListView | None:
    """None if the field gives no list that can be followed."""
    outline = selections.outline
    named = outline.types[inner_name(field.type)]
    if is_connection(field, outline):
        return connection_view(field, selections)
    if is_list(field.type) or named.kind == "object":
        counted = counted_view(field, selections)
        if counted is not None:
            return counted
    if is_list(field.type) or named.kind != "object":
        return None
    inner = [one for one in named.fields.values() if is_connection(one, outline) and is_sized(one)]
    ways = {one.name: way_of(outline.types[inner_name(one.type)]) for one in inner[:MAX_NAMED]}
    return ListView({**RELAY, "nested": ways, "size": {SIZE: FIRST_SIZE}}, "", {}) if inner else None


def is_connection(field: Field, outline: Outline) -> bool:
    """With a cursor to continue by, and an answer that says where and whether."""
    named = outline.types[inner_name(field.type)]
    info = named.fields.get("pageInfo")
    page_fields = outline.types[inner_name(info.type)].fields if info is not None else {}
    takes = any(one.name == CURSOR and not outline.is_composite(one.type) for one in field.arguments)
    is_stated = {"hasNextPage", "endCursor"} <= page_fields.keys() and not is_list(field.type)
    return takes and is_stated and bool(node_of(named, outline))


def is_sized(field: Field) -> bool:
    return not field.deprecated and any(one.name == SIZE and one.type.strip("!") == "Int" for one in field.arguments)


def node_of(named: NamedType, outline: Outline) -> str:
    """The type of one item, as it is written; empty if there are no items."""
    if way_of(named) == "nodes":
        return item_type(named.fields["nodes"].type)
    edges = named.fields.get("edges")
    edge = outline.types[inner_name(edges.type)] if edges is not None and is_list(edges.type) else None
    node = edge.fields.get("node") if edge is not None else None
    return node.type if node is not None and not is_list(node.type) else ""


def way_of(named: NamedType) -> str:
    nodes = named.fields.get("nodes")
    return "nodes" if nodes is not None and is_list(nodes.type) else "edges"


def item_type(type: str) -> str:
    return type.removesuffix("!")[1:-1]


def connection_view(field: Field, selections: Selections) -> ListView:
    outline = selections.outline
    named = outline.types[inner_name(field.type)]
    type = node_of(named, outline)
    text, items = item_view(type, selections)
    way = way_of(named)
    shown = f"nodes{text}" if way == "nodes" else f"edges{{node{text}}}"
    total = named.fields.get(TOTAL)
    has_total = total is not None and total.type.strip("!") == "Int" and is_selectable(total, outline)
    paging: PageScheme = {**RELAY, "way": way, **page_size(field.arguments, (SIZE,))}
    return ListView(paging, f"{{{shown} {PAGE_INFO}{' ' + TOTAL if has_total else ''}}}", items)


def item_view(type: str, selections: Selections) -> tuple[str, Schema]:
    """Of one item in full, whatever it is wrapped in."""
    view = selections.default(type)
    return view.text, view.schema


def counted_view(field: Field, selections: Selections) -> ListView | None:
    by = counted_by(field.arguments)
    if by is None:
        return None
    outline, base = selections.outline, selections.default(field.type)
    if is_list(field.type):
        if not outline.is_composite(field.type) or is_list(item_type(field.type)):
            return None
        _, items = item_view(item_type(field.type), selections)
        return ListView({**by, "items": []}, base.text, items)
    named = outline.types[inner_name(field.type)]
    lists = [one for one in named.fields.values() if is_list(one.type) and outline.is_composite(one.type)]
    shown = [one for one in lists if one.name in ITEMS and is_selectable(one, outline)]
    if len(lists) != 1 or not shown:
        return None
    text, items = item_view(item_type(shown[0].type), selections)
    leaves = [one.name for one in selections.leaves(named, 12)]
    return ListView({**by, "items": [shown[0].name]}, f"{{{' '.join([*leaves, shown[0].name + text])}}}", items)


def counted_by(arguments: tuple[Argument, ...]) -> PageScheme | None:
    numbers = {one.name: one for one in arguments if one.type.strip("!") == "Int"}
    size = page_size(arguments, SIZES)
    offset = next((numbers[name] for name in OFFSETS if name in numbers), None)
    if offset is not None and size:
        return {"by": "offset", "argument": offset.name, "start": 0, **required_argument(offset), **size}
    page = next((numbers[name] for name in PAGES if name in numbers), None)
    if page is None:
        return None
    start: PageScheme = {"start": int(page.default)} if page.default in ("0", "1") else {"start": 1, "guessed": True}
    return {"by": "page", "argument": page.name, **start, **required_argument(page), **size}


def required_argument(argument: Argument) -> PageScheme:
    return {"required": True} if argument.is_required else {}


def page_size(arguments: tuple[Argument, ...], names: tuple[str, ...]) -> PageScheme:
    """The largest page that the schema names, or one that most services give."""
    size = next((one for name in names for one in arguments if one.name == name and one.type.strip("!") == "Int"), None)
    if size is None:
        return {}
    found = _LARGEST.search(size.description)
    most = int(next(filter(None, found.groups()))) if found else FIRST_SIZE
    return {"sizeArgument": size.name, "size": {size.name: min(max(most, 1), LARGEST_SIZE)}}
