"""Lists in pages: recognised in the document, and read to their end within bounds."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from executor.errors import ToolError
from executor.model.source import Loaded, Source
from executor.network.client import Egress
from executor.sources.openapi.kind import OpenApi
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.openapi.documents import answers, document, load
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json

INTEGERS = {"type": "array", "items": {"type": "integer"}}
TEXT = {"type": "string"}


@pytest.fixture
async def kind(egress: Egress) -> AsyncIterator[OpenApi]:
    yield OpenApi(egress, answer_bytes=100_000)


def query(*names: str, **schema: Any) -> list[dict[str, Any]]:
    return [{"name": name, "in": "query", "schema": schema or {"type": "integer"}} for name in names]


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


async def listing(kind: OpenApi, upstream: Upstream, operation: dict[str, Any], pages: Any, **arguments: Any) -> Any:
    """`pages(arguments of the query) -> reply`"""
    upstream.routes["/openapi.json"] = as_json(document({"/list": {"get": {"operationId": "list", **operation}}}))

    def answer(got: Got, handler: Handler) -> Reply:
        reply = pages(dict(parse_qsl(urlsplit(got.target).query)))
        return reply if isinstance(reply, Reply) else as_json(reply)

    upstream.routes["/list"] = answer
    loaded = await kind.load(
        SourceRequest(location=upstream.url + "/openapi.json", consented=Consent(private_network=True))
    )
    return await all_of(kind, loaded, arguments)


async def all_of(kind: OpenApi, loaded: Loaded, arguments: dict[str, Any]) -> Any:
    tool = next(tool for tool in loaded.tools if tool.path == "things.list.list.all")
    assert tool.effect == "read"
    source = Source("s", "w", "openapi", loaded.namespace, loaded.name, loaded.config)
    return json.loads(await kind.invoke(source, tool, arguments, ""))


async def test_a_cursor_is_followed_to_its_end(kind: OpenApi, upstream: Upstream) -> None:
    schema = fields(items=INTEGERS, nextPageToken=TEXT)
    pages = {
        "": {"items": [1, 2], "nextPageToken": "b"},
        "b": {"items": [3], "nextPageToken": "c"},
        "c": {"items": [4]},
    }
    operation = {"parameters": query("pageToken", type="string") + query("size"), "responses": answers(schema)}
    found = await listing(kind, upstream, operation, lambda asked: pages[asked.get("pageToken", "")], size=2)
    assert found == {"items": [1, 2, 3, 4], "pages": 3, "complete": True}
    assert [got.target for got in upstream.requests[1:]] == [
        "/list?size=2", "/list?pageToken=b&size=2", "/list?pageToken=c&size=2",
    ]  # fmt: skip


async def test_a_cursor_may_stand_deeper_in_the_answer(kind: OpenApi, upstream: Upstream) -> None:
    schema = fields(members=INTEGERS, response_metadata=fields(next_cursor=TEXT))
    operation = {"parameters": query("cursor", type="string"), "responses": answers(schema)}

    def pages(asked: dict[str, str]) -> Any:
        cursor = "" if "cursor" in asked else "x"
        return {"members": [len(asked)], "response_metadata": {"next_cursor": cursor}}

    assert (await listing(kind, upstream, operation, pages))["items"] == [0, 1]


async def test_links_in_headers_are_followed(kind: OpenApi, upstream: Upstream) -> None:
    responses = answers(INTEGERS)
    responses["200"]["headers"] = {"Link": {"schema": TEXT}}

    def pages(asked: dict[str, str]) -> Reply:
        at = int(asked.get("at", "0"))
        link = f'</list?at=0>; rel="first", <{upstream.url}/list?at={at + 1}>; rel="next"'
        return as_json([at], **({"Link": link} if at < 2 else {}))

    assert (await listing(kind, upstream, {"responses": responses}, pages)) == {
        "items": [0, 1, 2],
        "pages": 3,
        "complete": True,
    }


async def test_page_numbers_are_counted_up(kind: OpenApi, upstream: Upstream) -> None:
    operation = {"parameters": query("page", "per_page"), "responses": answers(INTEGERS)}
    found = await listing(
        kind, upstream, operation, lambda asked: [int(asked.get("page", "1"))] * (int(asked.get("page", "1")) < 4)
    )
    assert found == {"items": [1, 2, 3], "pages": 4, "complete": True}


async def test_offsets_are_counted_up_by_what_came(kind: OpenApi, upstream: Upstream) -> None:
    operation = {
        "parameters": query("offset", "limit"),
        "responses": answers(fields(results=INTEGERS, total={"type": "integer"})),
    }
    stock = list(range(5))
    found = await listing(
        kind, upstream, operation, lambda asked: {"results": stock[int(asked.get("offset", "0")) :][:2], "total": 5}
    )
    assert found["items"] == stock


@pytest.mark.parametrize("newest", [6, 5, 2, 0])
async def test_the_number_of_the_next_item_is_no_offset(kind: OpenApi, upstream: Upstream, newest: int) -> None:
    """Newest first, by numbers that go down to 0: the answer says where the next page begins."""
    number = {"type": ["integer", "null"]}
    schema = fields(results=INTEGERS, total={"type": "integer"}, **{"from": number, "next": number})
    operation = {"parameters": query("from", "limit"), "responses": answers(schema)}
    stock = list(range(newest, -1, -1))

    def page(asked: dict[str, str]) -> Any:
        rest = [one for one in stock if one <= int(asked.get("from", newest))]
        return {"results": rest[:3], "total": len(stock), "from": rest[0], "next": rest[3] if rest[3:] else None}

    found = await listing(kind, upstream, operation, page)
    assert (found["items"], found["complete"]) == (stock, True)


async def test_an_offset_that_has_to_be_given_is_counted_before_a_page_that_may_be(
    kind: OpenApi, upstream: Upstream
) -> None:
    required = [{**one, "required": True} for one in query("offset")]
    operation = {"parameters": [*query("page", "limit"), *required], "responses": answers(INTEGERS)}
    stock = list(range(5))
    found = await listing(kind, upstream, operation, lambda asked: stock[int(asked["offset"]) :][:2])
    assert (found["items"], found["complete"]) == (stock, True)


async def test_the_address_of_the_next_page_is_followed_on_the_same_origin_only(
    kind: OpenApi, upstream: Upstream, elsewhere: Upstream
) -> None:
    operation = {"responses": answers(fields(value=INTEGERS, **{"@odata.nextLink": TEXT}))}
    relative = await listing(
        kind,
        upstream,
        operation,
        lambda asked: {"value": [1]} if asked else {"value": [0], "@odata.nextLink": "list?s=1"},
    )
    assert relative["items"] == [0, 1]
    with pytest.raises(ToolError, match="another origin"):
        await listing(kind, upstream, operation, lambda asked: {"value": [0], "@odata.nextLink": elsewhere.url})
    assert elsewhere.connections == 0


async def test_the_last_item_may_be_the_cursor(kind: OpenApi, upstream: Upstream) -> None:
    things = {"type": "array", "items": fields(id=TEXT)}
    schema = fields(data=things, has_more={"type": "boolean"})
    operation = {"parameters": query("starting_after", type="string"), "responses": answers(schema)}

    def pages(asked: dict[str, str]) -> Any:
        last = asked.get("starting_after", "a")
        return {"data": [{"id": last + "b"}], "has_more": len(last) < 3}

    assert [one["id"] for one in (await listing(kind, upstream, operation, pages))["items"]] == ["ab", "abb", "abbb"]


@pytest.mark.parametrize(("limits", "items", "pages"), [({"maxPages": 2}, 6, 2), ({"maxItems": 4}, 4, 2), ({}, 60, 20)])
async def test_a_list_without_end_is_cut_and_says_so(
    kind: OpenApi, upstream: Upstream, limits: dict[str, int], items: int, pages: int
) -> None:
    operation = {"parameters": query("page"), "responses": answers(INTEGERS)}
    found = await listing(kind, upstream, operation, lambda asked: [int(asked.get("page", "1"))] * 3, **limits)
    assert (len(found["items"]), found["pages"], found["complete"]) == (items, pages, False)
    assert ("maxItems" if "maxItems" in limits else "maxPages") in found["reason"]


async def test_a_service_that_repeats_its_cursor_is_reported(kind: OpenApi, upstream: Upstream) -> None:
    schema = fields(items=INTEGERS, next_cursor=TEXT)
    operation = {"parameters": query("cursor", type="string"), "responses": answers(schema)}
    found = await listing(kind, upstream, operation, lambda asked: {"items": [len(asked)], "next_cursor": "same"})
    assert (found["items"], found["complete"]) == ([0, 1], False)
    assert "same cursor" in found["reason"]


async def test_a_page_that_fails_fails_the_call(kind: OpenApi, upstream: Upstream) -> None:
    operation = {"parameters": query("page"), "responses": answers(INTEGERS)}
    with pytest.raises(ToolError) as caught:
        await listing(kind, upstream, operation, lambda asked: as_json({}, 500) if asked else [1])
    assert caught.value.http_status == 500


def paged_paths(parameters: list[dict[str, Any]], schema: Any, method: str = "get") -> list[str]:
    loaded = load({"/list": {method: {"operationId": "list", "parameters": parameters, "responses": answers(schema)}}})
    return [tool.path for tool in loaded.tools if tool.path.endswith(".all")]


def test_what_does_not_tell_of_pages_has_no_such_tool() -> None:
    assert paged_paths([], INTEGERS) == []
    assert paged_paths(query("filter"), fields(items=INTEGERS)) == []
    assert paged_paths(query("cursor"), fields(name=TEXT, next_cursor=TEXT)) == []
    assert paged_paths(query("page", type="string"), INTEGERS) == []
    assert paged_paths(query("page"), INTEGERS, "post") == []
    assert paged_paths(query("page", "maxItems"), INTEGERS) == []


def test_the_tool_takes_the_other_arguments_and_its_limits() -> None:
    parameters = [*query("page"), {"name": "owner", "in": "query", "required": True, "schema": TEXT}]
    loaded = load({"/list": {"get": {"operationId": "list", "parameters": parameters, "responses": answers(INTEGERS)}}})
    tool = next(tool for tool in loaded.tools if tool.path.endswith(".all"))
    assert set(tool.input_schema["properties"]) == {"owner", "maxPages", "maxItems"}
    assert tool.input_schema["required"] == ["owner"]
    assert tool.output_schema is not None and tool.output_schema["properties"]["items"] == INTEGERS
