"""How services name what turns their pages: each in a small document of its own, read against a service on loopback."""

from __future__ import annotations

from typing import Any

import pytest

from executor.network.client import Egress
from tests.sources.openapi.documents import answers, load
from tests.sources.openapi.paged_lists import FLAG, NUMBER, TEXT, THINGS, Asked, List, fields, query, things
from tests.sources.upstream import Reply, Upstream, as_json

PROBLEMS = {"type": "array", "items": fields(code=TEXT)}

# name: parameters, schema of the answer, the answer of some items and the cursor of the next page, its parameter
CURSORS: dict[str, Any] = {
    "next_page.offset beside an address": (
        [query("offset", TEXT)],
        fields(data=THINGS, next_page=fields(uri=TEXT, path=TEXT, offset=TEXT)),
        lambda items, cursor: {"data": items, "next_page": {"offset": cursor, "uri": "no://where"} if cursor else None},
        "offset",
    ),
    "paging.next.after": (
        [query("after", TEXT)],
        fields(results=THINGS, paging=fields(next=fields(link=TEXT, after=TEXT))),
        lambda items, cursor: {"results": items, **({"paging": {"next": {"after": cursor}}} if cursor else {})},
        "after",
    ),
    "meta.page.after": (
        [query("page[after]", TEXT)],
        fields(data=THINGS, meta=fields(page=fields(before=TEXT, after=TEXT))),
        lambda items, cursor: {"data": items, "meta": {"page": {"before": "b", "after": cursor or None}}},
        "page[after]",
    ),
    "payload.pagination.nextToken": (
        [query("nextToken", TEXT)],
        fields(payload=fields(pagination=fields(nextToken=TEXT), shipments=THINGS), errors=PROBLEMS),
        lambda items, cursor: {
            "payload": {"shipments": items, "pagination": {"nextToken": cursor} if cursor else None}
        },
        "nextToken",
    ),
    "paginationToken": (
        [query("paginationToken", TEXT)],
        fields(plans=THINGS, pagination=fields(nextToken=TEXT)),
        lambda items, cursor: {"plans": items, "pagination": {"nextToken": cursor or None}},
        "paginationToken",
    ),
    "result_info.cursors.after": (
        [query("cursor", TEXT)],
        fields(result=THINGS, result_info=fields(cursors=fields(before=TEXT, after=TEXT)), errors=PROBLEMS),
        lambda items, cursor: {"result": items, "result_info": {"cursors": {"before": "b", "after": cursor}}},
        "cursor",
    ),
    "an echo of the cursor beside the next one": (
        [query("cursor", TEXT)],
        fields(items=THINGS, cursor=TEXT, meta=fields(next_cursor=TEXT)),
        lambda items, cursor: {"items": items, "cursor": "echo", "meta": {"next_cursor": cursor}},
        "cursor",
    ),
    "bookmark": (
        [query("bookmark", TEXT)],
        fields(docs=THINGS, bookmark=TEXT),
        lambda items, cursor: {"docs": items, "bookmark": cursor or None},
        "bookmark",
    ),
    "Marker": (
        [query("Marker", TEXT)],
        fields(Functions=THINGS, NextMarker=TEXT),
        lambda items, cursor: {"Functions": items, "NextMarker": cursor},
        "Marker",
    ),
    "page as a cursor": (
        [query("page", TEXT)],
        fields(data=THINGS, has_more=FLAG, next_page=TEXT),
        lambda items, cursor: {"data": items, "has_more": bool(cursor), "next_page": cursor or None},
        "page",
    ),
    "the last item": (
        [query("after", TEXT)],
        fields(data=THINGS, has_more=FLAG),
        lambda items, cursor: {"data": items, "has_more": bool(cursor)},
        "after",
    ),
    "alternatives": (
        [query("cursor", TEXT)],
        {"type": "object", "oneOf": [fields(entries=THINGS, next_cursor=TEXT), fields(entries=THINGS, error=TEXT)]},
        lambda items, cursor: {"entries": items, "next_cursor": cursor},
        "cursor",
    ),
    "a cursor that no document mentions": (
        [query("offset", TEXT)],
        fields(data=THINGS),
        lambda items, cursor: {"data": items, "next_page": {"offset": cursor}, "has_more": bool(cursor)},
        "offset",
    ),
    "a number": (
        [query("cursor", NUMBER)],
        fields(ids=THINGS, next_cursor=NUMBER, previous_cursor=NUMBER),
        lambda items, cursor: {"ids": items, "next_cursor": int(cursor or "0"), "previous_cursor": 5},
        "cursor",
    ),
    "links beside the list": (
        [query("cursor", TEXT)],
        fields(links={"type": "array", "items": fields(a=TEXT)}, photos=THINGS, next_cursor=TEXT),
        lambda items, cursor: {"links": [{"a": "b"}], "photos": items, "next_cursor": cursor},
        "cursor",
    ),
}


@pytest.mark.parametrize("style", CURSORS)
async def test_a_cursor_is_found_wherever_it_usually_is(egress: Egress, upstream: Upstream, style: str) -> None:
    parameters, schema, shape, argument = CURSORS[style]

    def answer(asked: Asked) -> Any:
        at = int(asked.get(argument, "-1")) + 1
        return shape(things(at, 2), str(at + 1) if at < 4 else "")

    assert await List(egress, upstream, parameters, schema).all(answer) == (things(0, 6), True)


ADDRESSES: dict[str, Any] = {
    "next": (fields(count=NUMBER, next=TEXT, previous=TEXT, results=THINGS), lambda url: {"next": url}, "results"),
    "links.next": (fields(data=THINGS, links=fields(next=TEXT)), lambda url: {"links": {"next": url}}, "data"),
    "_links.next.href": (
        fields(items=THINGS, _links=fields(self=fields(href=TEXT), next=fields(href=TEXT))),
        lambda url: {"_links": {"self": {"href": "/x"}, **({"next": {"href": url}} if url else {})}},
        "items",
    ),
    "paging.next": (fields(data=THINGS, paging=fields(next=TEXT)), lambda url: {"paging": {"next": url}}, "data"),
    "nextLink": (fields(value=THINGS, nextLink=TEXT), lambda url: {"nextLink": url}, "value"),
    "next_page_url": (fields(data=THINGS, next_page_url=TEXT), lambda url: {"next_page_url": url}, "data"),
    "nextRecordsUrl": (
        fields(records=THINGS, done=FLAG, nextRecordsUrl=TEXT),
        lambda url: {"done": not url, **({"nextRecordsUrl": url} if url else {})},
        "records",
    ),
    "links with relations": (
        fields(plans=THINGS, links={"type": "array", "items": fields(rel=TEXT, href=TEXT)}),
        lambda url: {"links": [{"rel": "self", "href": "/x"}, *([{"rel": "next", "href": url}] if url else [])]},
        "plans",
    ),
}


@pytest.mark.parametrize("style", ADDRESSES)
async def test_an_address_of_the_next_page_is_followed(egress: Egress, upstream: Upstream, style: str) -> None:
    schema, shape, name = ADDRESSES[style]

    def answer(asked: Asked) -> Any:
        at = int(asked.get("from_item", "0"))
        return {name: things(at, 2), **shape(f"/list?from_item={at + 2}" if at < 4 else None)}

    assert await List(egress, upstream, [], schema).all(answer) == (things(0, 6), True)


@pytest.mark.parametrize(
    ("header", "argument", "schema"),
    [("X_Next_Cursor", "cursor", TEXT), ("X_Next_Page", "page", NUMBER), ("x_ms_continuation", "continuation", TEXT)],
)
async def test_a_declared_header_gives_the_next_page(
    egress: Egress, upstream: Upstream, header: str, argument: str, schema: Any
) -> None:
    listed = List(egress, upstream, [query(argument, schema)], THINGS, **{header: True})

    def answer(asked: Asked) -> Reply:
        at = int(asked.get(argument, "1"))
        return as_json(things(at * 2 - 2, 2), **{header.replace("_", "-"): str(at + 1) if at < 3 else ""})

    assert await listed.all(answer) == (things(0, 6), True)


SEARCHES: dict[str, Any] = {
    "cursor": (
        fields(query=TEXT, cursor=TEXT, limit=NUMBER),
        fields(orders=THINGS, cursor=TEXT, errors=PROBLEMS),
        lambda at: int(at or 0),
        lambda items, at: {"orders": items, **({"cursor": str(at)} if at else {})},
        {"query": "x"},
        "cursor",
    ),
    "page": (
        fields(page={**NUMBER, "default": 0}, size=NUMBER),
        fields(content=THINGS, totalPages=NUMBER),
        lambda at: int(at or 0) * 2,
        lambda items, at: {"content": items, "totalPages": 3},
        {"size": 2},
        "page",
    ),
    "a cursor that has to be given": (
        {**fields(after=TEXT, query=TEXT), "required": ["after"]},
        fields(results=THINGS, paging=fields(next=fields(after=TEXT))),
        lambda at: int(at or 0),
        lambda items, at: {"results": items, **({"paging": {"next": {"after": str(at)}}} if at else {})},
        {"after": ""},
        "after",
    ),
}


@pytest.mark.parametrize("style", SEARCHES)
async def test_a_search_by_post_turns_pages_in_its_body(egress: Egress, upstream: Upstream, style: str) -> None:
    body, schema, start, shape, arguments, name = SEARCHES[style]

    def answer(asked: Asked) -> Any:
        assert {**arguments, name: ""}.keys() >= asked.keys() >= {**arguments, name: ""}.keys() - {name}
        at = start(asked.get(name))
        return shape(things(at, 2), at + 2 if at < 4 else 0)

    listed = List(egress, upstream, [], schema, body=body)
    assert await listed.all(answer, **arguments) == (things(0, 6), True)
    assert listed.targets == ["/list"] * 3


def effects_of(body: Any, schema: Any) -> dict[str, str]:
    content = {"content": {"application/json": {"schema": body}}}
    operation = {"operationId": "list", "requestBody": content, "responses": answers(schema)}
    return {tool.path: tool.effect for tool in load({"/list": {"post": operation}}).tools}


def test_a_search_by_post_is_still_a_write_and_others_are_not_repeated() -> None:
    searched = effects_of(fields(cursor=TEXT), fields(items=THINGS, cursor=TEXT))
    assert searched == {"things.list.list": "write", "things.list.list.all": "write"}
    assert list(effects_of(fields(page=NUMBER, title=TEXT), fields(items=THINGS))) == ["things.list.list"]
    assert list(effects_of(fields(cursor=TEXT), fields(items=THINGS))) == ["things.list.list"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (fields(errors=PROBLEMS, next_cursor=TEXT), None),
        (fields(payload=fields(refunds=THINGS, charges=THINGS), errors=PROBLEMS, next_cursor=TEXT), None),
        (fields(users=THINGS, teams=THINGS, next_cursor=TEXT), None),
        (fields(other=THINGS, list=THINGS, next_cursor=TEXT), ["list"]),
        (fields(names={"type": "array", "items": TEXT}, links=PROBLEMS, next_cursor=TEXT), ["names"]),
        (fields(response=fields(things=THINGS, next_cursor=TEXT)), ["response", "things"]),
    ],
)
def test_the_list_is_the_array_that_is_meant(schema: Any, expected: list[str] | None) -> None:
    operation = {"operationId": "list", "parameters": [query("cursor", TEXT)], "responses": answers(schema)}
    found = [tool.binding["all"] for tool in load({"/list": {"get": operation}}).tools if "all" in tool.binding]
    assert [one["items"] for one in found] == ([expected] if expected else [])


@pytest.mark.parametrize(
    "shape", [lambda items: items, lambda items: {"entries": items}, lambda items: {"orders": items}]
)
async def test_a_list_is_found_where_the_service_puts_it(egress: Egress, upstream: Upstream, shape: Any) -> None:
    listed = List(egress, upstream, [query("offset"), query("limit")], {"oneOf": [THINGS, fields(data=THINGS)]})
    assert await listed.all(lambda asked: shape(things(0, 5)[int(asked.get("offset", 0)) :][:2])) == (
        things(0, 5),
        True,
    )


async def test_a_bare_list_where_an_address_is_due_is_counted_or_not_called_complete(
    egress: Egress, upstream: Upstream
) -> None:
    schema = {"oneOf": [THINGS, fields(collection=THINGS, next_href=TEXT)]}
    counted = List(egress, upstream, [query("offset"), query("limit")], schema)
    assert await counted.all(lambda asked: things(0, 5)[int(asked.get("offset", 0)) :][:2]) == (things(0, 5), True)
    listed = List(egress, upstream, [], schema)
    assert await listed.all(lambda asked: things(0, 5)) == (things(0, 5), False)
    assert "does not say whether more follows" in listed.reason


@pytest.mark.parametrize("words", ["Start of the time range", "Unix timestamp", "Only those after this date"])
def test_a_time_is_not_taken_for_an_offset(words: str) -> None:
    parameters = [query("from", NUMBER, words), query("start", NUMBER, words), query("limit")]
    operation = {"operationId": "list", "parameters": parameters, "responses": answers(THINGS)}
    assert [tool.path for tool in load({"/list": {"get": operation}}).tools] == ["things.list.list"]
