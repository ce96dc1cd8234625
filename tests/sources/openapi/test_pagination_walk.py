"""Services that page in the usual styles: every item once, and `complete` only if that is so."""

from __future__ import annotations

from typing import Any

import pytest

from executor.network.client import Egress
from tests.sources.openapi.documents import answers, load
from tests.sources.openapi.paged_lists import FLAG, NUMBER, TEXT, THINGS, Asked, List, Service, fields, query, things
from tests.sources.upstream import Reply, Upstream, as_json


def numbered_service(base: int, total: int, shape: Any, behind: Any = None) -> Service:
    """Counts its pages from `base`, two items each; `shape(items, page, pages, is_last)` is its answer."""

    def answer(asked: Asked) -> Any:
        page, pages = int(asked.get("page", base)) - base, -(-total // 2)
        found = things(0, total)[page * 2 : page * 2 + 2] if page >= 0 else []
        return behind if behind is not None and not found else shape(found, page + base, pages, page + 1 >= pages)

    return answer


SHAPES = {
    "bare": (THINGS, lambda items, page, pages, is_last: items),
    "number": (
        fields(content=THINGS, number=NUMBER),
        lambda items, page, pages, is_last: {"content": items, "number": page},
    ),
    "last": (
        fields(content=THINGS, last=FLAG),
        lambda items, page, pages, is_last: {"content": items, "last": is_last},
    ),
    "nested": (
        fields(data=THINGS, meta=fields(current_page=NUMBER, last_page=NUMBER)),
        lambda items, page, pages, is_last: {"data": items, "meta": {"current_page": page, "last_page": pages}},
    ),
    "misled": (  # takes numbers from 1 and tells them from 0, as Spring can
        fields(content=THINGS, number=NUMBER),
        lambda items, page, pages, is_last: {"content": items, "number": 0},
    ),
}


@pytest.mark.parametrize("style", SHAPES)
async def test_no_page_is_lost_however_pages_are_numbered(egress: Egress, upstream: Upstream, style: str) -> None:
    schema, shape = SHAPES[style]
    listed = List(egress, upstream, [query("page"), query("size")], schema)
    for base in (0, 1):
        for total, behind in ((0, None), (1, None), (4, None), (5, as_json({"detail": "Invalid page."}, 404))):
            assert await listed.all(numbered_service(base, total, shape, behind)) == (things(0, total), True), (
                base,
                total,
            )


@pytest.mark.parametrize("words", ["Zero-based page number", "0-indexed page", "Page to get, starting from 0"])
async def test_a_description_may_say_that_pages_are_counted_from_zero(
    egress: Egress, upstream: Upstream, words: str
) -> None:
    listed = List(egress, upstream, [query("page", NUMBER, words)], THINGS)
    assert await listed.all(numbered_service(0, 5, SHAPES["bare"][1])) == (things(0, 5), True)


async def test_a_first_page_that_the_document_names_is_not_asked_for_twice(egress: Egress, upstream: Upstream) -> None:
    listed = List(egress, upstream, [query("page", {**NUMBER, "default": 1})], THINGS)
    assert await listed.all(numbered_service(1, 3, SHAPES["bare"][1])) == (things(0, 3), True)
    assert [got.target for got in upstream.requests if got.target != "/openapi.json"] == [
        "/list", "/list?page=2", "/list?page=3",
    ]  # fmt: skip


async def test_a_list_shorter_than_its_service_says_is_not_called_complete(egress: Egress, upstream: Upstream) -> None:
    listed = List(egress, upstream, [query("page")], fields(items=THINGS, total=NUMBER))
    shape = lambda items, page, pages, is_last: {"items": items, "total": 9}  # noqa: E731 - as above
    assert await listed.all(numbered_service(1, 3, shape)) == (things(0, 3), False)


async def test_a_total_ends_a_list_and_a_count_of_the_page_does_not(egress: Egress, upstream: Upstream) -> None:
    listed = List(egress, upstream, [query("offset"), query("limit")], fields(items=THINGS, total=NUMBER))

    def answer(total: Any) -> Service:
        def by_offset(asked: Asked) -> Any:
            found = things(0, 4)[int(asked.get("offset", 0)) :][:2]
            return {"items": found, "total": total(found)}

        return by_offset

    assert await listed.all(answer(lambda found: 4)) == (things(0, 4), True)
    assert len(upstream.requests) == 3
    assert await listed.all(answer(len)) == (things(0, 4), True)


async def test_a_service_that_ignores_the_page_is_reported(egress: Egress, upstream: Upstream) -> None:
    listed = List(egress, upstream, [query("page")], THINGS)
    assert await listed.all(lambda asked: things(0, 2)) == (things(0, 2), False)
    assert "ignore `page`" in listed.reason


CURSORS = {
    "asana": (
        [query("offset", TEXT)],
        fields(data=THINGS, next_page=fields(offset=TEXT)),
        lambda items, cursor: {"data": items, "next_page": {"offset": cursor} if cursor else None},
        "offset",
    ),
    "kubernetes": (
        [query("continue", TEXT), query("limit")],
        fields(items=THINGS, metadata=fields(**{"continue": TEXT})),
        lambda items, cursor: {"items": items, "metadata": {"continue": cursor}},
        "continue",
    ),
    "errors beside the list": (
        [query("cursor", TEXT)],
        fields(errors={"type": "array", "items": fields(code=TEXT)}, payments=THINGS, cursor=TEXT),
        lambda items, cursor: {"payments": items, **({"cursor": cursor} if cursor else {})},
        "cursor",
    ),
    "last_id": (
        [query("after", TEXT)],
        fields(data=THINGS, last_id=TEXT, has_more=FLAG),
        lambda items, cursor: {"data": items, "last_id": cursor or "last", "has_more": bool(cursor)},
        "after",
    ),
    "payload": (
        [query("NextToken", TEXT)],
        fields(payload=fields(Orders=THINGS, NextToken=TEXT)),
        lambda items, cursor: {"payload": {"Orders": items, "NextToken": cursor}},
        "NextToken",
    ),
    "two lists, one of objects": (
        [query("nextPageToken", TEXT)],
        fields(names={"type": "array", "items": TEXT}, issues=THINGS, nextPageToken=TEXT),
        lambda items, cursor: {"names": ["a"], "issues": items, "nextPageToken": cursor},
        "nextPageToken",
    ),
}


@pytest.mark.parametrize("style", CURSORS)
async def test_cursors_by_any_usual_name_are_followed(egress: Egress, upstream: Upstream, style: str) -> None:
    parameters, schema, shape, argument = CURSORS[style]

    def answer(asked: Asked) -> Any:
        at = int(asked.get(argument, "0"))
        return shape(things(at, 2), str(at + 2) if at < 4 else "")

    assert await List(egress, upstream, parameters, schema).all(answer) == (things(0, 6), True)


async def test_the_address_of_the_next_page_has_many_names(egress: Egress, upstream: Upstream) -> None:
    schema = fields(messages=THINGS, page=NUMBER, next_page_uri=TEXT)

    def answer(asked: Asked) -> Any:
        at = int(asked.get("Page", "0"))
        following = f"/list?Page={at + 1}&PageToken=x" if at < 2 else None
        return {"messages": things(at, 1), "page": at, "next_page_uri": following}

    assert await List(egress, upstream, [query("Page")], schema).all(answer) == (things(0, 3), True)


async def test_links_are_followed_that_no_document_declares(egress: Egress, upstream: Upstream) -> None:
    listed = List(egress, upstream, [query("cursor", TEXT)], THINGS)

    def answer(asked: Asked) -> Reply:
        at = int(asked.get("cursor", "0"))
        link = f'<{upstream.url}/list?cursor={at + 1}>; rel="next"; results="{"true" if at < 2 else "false"}"'
        return as_json(things(at, 1), Link=link)

    assert await listed.all(answer) == (things(0, 3), True)
    assert await listed.all(lambda asked: things(0, 3)) == (things(0, 3), False)  # nobody said that this is all
    about = '</docs>; rel="describedby"'
    assert await listed.all(lambda asked: as_json(things(0, 3), Link=about)) == (things(0, 3), False)


def with_ids(*numbers: int) -> list[dict[str, str]]:
    return [{"id": str(number)} for number in numbers]


AFTER_LAST = {
    "to its end": (
        lambda after: with_ids(*range(9, 16))[:3] if not after else with_ids(*range(after + 1, 16))[:3],
        7,
        True,
    ),
    "newest first": (lambda after: with_ids(15, 14, 13), 3, False),
    "ignored": (lambda after: with_ids(9, 10, 11), 3, False),
    "refused": (lambda after: Reply(400, b"{}") if after else with_ids(9, 10, 11), 3, False),
    "not by numbers": (lambda after: [{"id": "b"}, {"id": "c"}] if not after else [], 2, False),
    "null for nothing": (lambda after: with_ids(9, 10) if not after else as_json(None), 2, True),
}


@pytest.mark.parametrize("case", AFTER_LAST)
async def test_the_identifier_of_the_last_item_is_tried_where_identifiers_grow(
    egress: Egress, upstream: Upstream, case: str
) -> None:
    """A bare list that takes `after`, and says nothing more."""
    answer, count, is_whole = AFTER_LAST[case]
    listed = List(egress, upstream, [query("after", TEXT)], {**THINGS, "type": ["array", "null"]})
    items, complete = await listed.all(lambda asked: answer(int(asked.get("after", "0"))))
    assert (len(items), complete) == (count, is_whole), listed.reason


async def test_a_number_called_offset_needs_no_size_beside_it(egress: Egress, upstream: Upstream) -> None:
    listed = List(egress, upstream, [query("offset")], THINGS)
    assert await listed.all(lambda asked: things(0, 5)[int(asked.get("offset", "0")) :][:2]) == (things(0, 5), True)


def test_the_list_is_the_one_that_the_path_names() -> None:
    """A search for threads may give their members as well."""
    schema = fields(members=THINGS, threads=THINGS, has_more=FLAG)
    loaded = load({"/threads/search": {"get": {"parameters": [query("offset")], "responses": answers(schema)}}})
    assert [tool.binding["all"]["items"] for tool in loaded.tools if "all" in tool.binding] == [["threads"]]


@pytest.mark.parametrize(
    "body",
    [
        {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {}}}}},
        {"content": {"application/json": {"schema": {}}}},
        {"content": {"application/json": {}}, "required": False},
    ],
)
def test_an_empty_body_of_a_get_is_ignored(body: dict[str, Any]) -> None:
    operation = {
        "operationId": "list",
        "parameters": [query("page")],
        "requestBody": body,
        "responses": answers(THINGS),
    }
    tools = {tool.path: tool for tool in load({"/list": {"get": operation}}).tools}
    assert "things.list.list.all" in tools
    assert set(tools["things.list.list"].input_schema["properties"]) == {"page"}


@pytest.mark.parametrize(
    ("size", "asked"),
    [
        ({"name": "limit", "schema": {"type": "integer", "maximum": 40}}, "40"),
        ({"name": "per_page", "schema": {**NUMBER, "maximum": 100_000}}, "500"),
        (
            {"name": "limit", "schema": NUMBER, "description": "Limit can range between 1 and 100, the default is 10."},
            "100",
        ),
        ({"name": "pageSize", "schema": NUMBER, "description": "How many (max 50)."}, "50"),
        ({"name": "pageSize", "schema": {**NUMBER, "description": "The maximum value is 250; default 20"}}, "250"),
        ({"name": "limit", "schema": NUMBER, "description": "The maximum number of items. Default 20."}, None),
        ({"name": "limit", "schema": TEXT, "description": "max 50"}, None),
        ({"name": "limit", "schema": NUMBER}, None),
    ],
)
async def test_the_largest_page_that_a_service_offers_is_asked_for(
    egress: Egress, upstream: Upstream, size: dict[str, Any], asked: str | None
) -> None:
    paged = List(egress, upstream, [query("page"), {"in": "query", **size}], THINGS)
    sizes: list[str | None] = []

    def service(arguments: Asked) -> Any:
        sizes.append(arguments.get(size["name"]))
        return things(0, 3) if arguments.get("page", "1") in ("0", "1") else []

    assert (await paged.all(service))[0] == things(0, 3)
    assert set(sizes) == {asked}
    sizes.clear()
    if asked:
        await paged.all(service, **{size["name"]: 7})
        assert set(sizes) == {"7"}
