"""All pages of a list: connections at a root field and one level below, and lists whose arguments count."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import jsonschema_rs
import orjson
import pytest
from graphql import GraphQLError

from executor.catalog.request_matches import read_operations
from executor.errors import ToolError
from executor.model.source import Loaded
from executor.model.tool import Tool
from executor.sources.graphql.kind import GraphQL
from executor.sources.source_request import Consent, Previous, SourceRequest
from tests.sources.graphql.service import source_of, tool_of
from tests.sources.graphql.shapes import FORGE, SHOP, TRACKER, MadeUp
from tests.sources.upstream import Upstream

COUNTED = """
type Item { id: ID! name: String! }
type Listed { items: [Item!]! total: Int! }
type Query {
  skipped(first: Int = 100, skip: Int = 0): [Item!]!
  paged(page: Int = 1, perPage: Int): [Item!]!
  zeroed(page: Int!): [Item!]!
  wrapped(offset: Int, limit: Int): Listed!
  stuck(offset: Int, limit: Int): [Item!]!
  plain(limit: Int): [Item!]!
  names(offset: Int, limit: Int): [String!]!
}
"""


class Connected:
    def __init__(self, kind: GraphQL, loaded: Loaded, service: MadeUp) -> None:
        self.kind, self.loaded, self.service = kind, loaded, service

    def tool(self, name: str) -> Tool:
        return tool_of(self.loaded, name)

    async def call(self, name: str, /, **arguments: Any) -> Any:
        """The result, which has the declared type if nothing was chosen."""
        tool, source = self.tool(name), source_of(self.loaded)
        definitions = {"$defs": dict(self.loaded.definitions)}
        jsonschema_rs.validate({**tool.input_schema, **definitions}, arguments)
        await self.kind.check(source, tool, self.kind.arrange(tool, arguments))
        value = orjson.loads(await self.kind.invoke(source, tool, arguments, "key"))
        if "select" not in arguments:
            jsonschema_rs.validate({**(tool.output_schema or {}), **definitions}, value)
        return value


Connect = Callable[[str], Awaitable[Connected]]


@pytest.fixture
def connect(kind: GraphQL, upstream: Upstream) -> Connect:
    async def load(sdl: str) -> Connected:
        upstream.routes["/graphql"] = service = MadeUp(sdl)
        request = SourceRequest(
            location=upstream.url + "/graphql", namespace="it", consented=Consent(private_network=True)
        )
        return Connected(kind, await kind.load(request), service)

    return load


def pages(count: int, most: int = 1_000, form: str = "nodes", total: int | None = None) -> Callable[..., Any]:
    """A connection of so many things that gives at most so many at once."""

    def page(first: int = 10, after: str | None = None, **others: Any) -> dict[str, Any]:
        if first > most:
            raise GraphQLError(
                f"Requesting {first} records on the `things` connection exceeds the `first` limit of {most} records."
            )
        start = int(after.removeprefix("c")) if after else 0
        things = [{"id": str(number), "name": f"n{number}"} for number in range(start, min(count, start + first))]
        info = {"hasNextPage": start + first < count, "endCursor": f"c{start + len(things)}" if things else None}
        listed = things if form == "nodes" else [{"node": one, "cursor": "?"} for one in things]
        return {form: listed, "pageInfo": info, "totalCount": count if total is None else total}

    return page


def ids(found: dict[str, Any]) -> list[int]:
    return [int(one["id"]) for one in found["items"]]


async def test_a_connection_is_read_to_its_end_by_its_nodes(connect: Connect) -> None:
    it = await connect(TRACKER)
    it.service.values["Query.issues"] = pages(230)
    found = await it.call("query.issues.all")
    assert ids(found) == list(range(230))
    assert (found["pages"], found["complete"]) == (3, True)
    assert {"title", "state", "team"} <= found["items"][0].keys()


async def test_a_connection_that_has_only_edges_gives_its_nodes_too(connect: Connect) -> None:
    it = await connect(SHOP)
    it.service.values["Query.products"] = pages(150, form="edges")
    found = await it.call("query.products.all")
    assert ids(found) == list(range(150)) and found["complete"]
    chosen = await it.call("query.products.all", select="{ id slug }")
    assert chosen["items"][7] == {"id": "7", "slug": "text"}


async def test_the_size_of_a_page_is_learnt_once_from_a_refusal(connect: Connect) -> None:
    it = await connect(TRACKER)
    it.service.values["Query.issues"] = pages(120, most=50)
    assert ids(await it.call("query.issues.all")) == list(range(120))
    assert len(it.service.queries) == 4  # the one with 100 was refused
    assert len((await it.call("query.issues.all"))["items"]) == 120
    assert len(it.service.queries) == 7
    with pytest.raises(ToolError, match="exceeds"):
        await it.call("query.issues.all", first=60)


async def test_limits_end_it_and_it_says_so(connect: Connect) -> None:
    it = await connect(TRACKER)
    it.service.values["Query.issues"] = pages(500)
    found = await it.call("query.issues.all", maxItems=130)
    assert len(found["items"]) == 130 and not found["complete"] and "maxItems" in found["reason"]
    found = await it.call("query.issues.all", maxPages=1, first=7)
    assert len(found["items"]) == 7 and not found["complete"] and "maxPages" in found["reason"]


@pytest.mark.parametrize(
    "info",
    [{"hasNextPage": True, "endCursor": "same"}, {"hasNextPage": True, "endCursor": None}],
    ids=["repeated", "missing"],
)
async def test_a_cursor_that_leads_nowhere_ends_it_and_it_is_not_complete(connect: Connect, info: Any) -> None:
    it = await connect(TRACKER)
    numbers = iter(range(100))
    it.service.values["Query.issues"] = lambda **_: {"nodes": [{"id": str(next(numbers))}], "pageInfo": info}
    found = await it.call("query.issues.all")
    assert found["items"] and not found["complete"] and found["reason"]
    assert len(it.service.queries) <= 3


async def test_an_empty_page_in_the_middle_is_not_the_end(connect: Connect) -> None:
    it = await connect(TRACKER)
    read = {None: ([0, 1], "a"), "a": ([], "b"), "b": ([2], "c")}

    def page(after: str | None = None, **others: Any) -> dict[str, Any]:
        numbers, cursor = read[after]
        info = {"hasNextPage": cursor != "c", "endCursor": cursor}
        return {"nodes": [{"id": str(number)} for number in numbers], "pageInfo": info}

    it.service.values["Query.issues"] = page
    found = await it.call("query.issues.all")
    assert ids(found) == [0, 1, 2] and found["complete"] and found["pages"] == 3


async def test_fewer_items_than_the_service_counts_are_not_complete(connect: Connect) -> None:
    it = await connect(SHOP)
    it.service.values["Query.products"] = pages(20, form="edges", total=25)
    found = await it.call("query.products.all")
    assert len(found["items"]) == 20 and not found["complete"]


async def test_no_list_at_all_is_not_a_complete_one(connect: Connect) -> None:
    it = await connect(SHOP)
    it.service.values["Query.products"] = None
    found = await it.call("query.products.all")
    assert found["items"] == [] and not found["complete"]


@pytest.mark.parametrize(
    "select",
    [
        "{ id title }",
        "id title",
        "{ nodes { id title } }",
        "{ nodes { id title } pageInfo { startCursor } }",
        "{ edges { node { id title } } }",
        "{ ...T } fragment T on Issue { id title }",
    ],
)
async def test_fields_are_chosen_for_each_item_or_for_the_whole_connection(connect: Connect, select: str) -> None:
    it = await connect(TRACKER)
    form = "edges" if "edges" in select else "nodes"
    it.service.values["Query.issues"] = pages(130, form=form)
    found = await it.call("query.issues.all", select=select)
    assert found["items"][129] == {"id": "129", "title": "text"} and found["complete"]


async def test_lists_inside_of_one_thing_are_read_by_choosing_one(connect: Connect) -> None:
    it = await connect(FORGE)
    it.service.values["Repository.issues"] = pages(230, most=100)
    found = await it.call(
        "query.repository.all", owner="o", name="n", select="{ issues(states: [OPEN]) { nodes { id title } } }"
    )
    assert ids(found) == list(range(230)) and found["complete"] and found["pages"] == 3
    assert "states: [OPEN]" in it.service.queries[-1] and 'after: "c200"' in it.service.queries[-1]
    short = await it.call("query.repository.all", owner="o", name="n", select="{ issues { id } }")
    assert ids(short) == list(range(230))
    own = await it.call(
        "query.repository.all", owner="o", name="n", maxPages=2, select="{ mine: issues(first: 5) { id } }"
    )
    assert ids(own) == list(range(10)) and not own["complete"]


@pytest.mark.parametrize(
    "select",
    [
        "{ name }",
        "{ issues { id } labels { id } }",
        "{ issues(last: 3) { id } }",
        '{ issues(first: 3, before: "x") { id } }',
        "{ issues { list: nodes { id } } }",
        "{ issues { edges { cursor } } }",
        "{ issues { nowhere } }",
        "{ ...R } fragment R on Repository { issues { nodes { id } } }",
    ],
)
async def test_what_is_not_one_list_read_forward_is_refused_before_anything_is_sent(
    connect: Connect, select: str
) -> None:
    it = await connect(FORGE)
    with pytest.raises(ToolError) as caught:
        await it.call("query.repository.all", owner="o", name="n", select=select)
    assert caught.value.tool_code == "invalid_arguments" and not it.service.queries


async def test_reading_backward_is_not_offered(connect: Connect) -> None:
    it = await connect(TRACKER)
    assert not {"last", "before", "after"} & it.tool("query.issues.all").input_schema["properties"].keys()
    assert {"first", "select", "maxPages"} <= it.tool("query.issues.all").input_schema["properties"].keys()
    assert it.tool("query.issues.all").effect == "read"


async def test_a_field_that_is_refused_does_not_end_the_list(connect: Connect) -> None:
    it = await connect(SHOP)
    it.service.values["Query.products"] = pages(150, form="edges")
    it.service.denied["Product.margin"] = "you need the permission MANAGE_PRODUCTS"
    found = await it.call("query.products.all", select="{ id }")
    assert found["complete"]
    value = orjson.loads(await it.kind.invoke(source_of(it.loaded), it.tool("query.products.all"), {}, "key"))
    assert ids(value) == list(range(150)) and "margin" not in value["items"][0]
    assert len(it.service.queries) == 5  # two pages of each, and the one that was refused


async def test_lists_that_count_items_or_pages_are_read_to_their_end(connect: Connect) -> None:
    it = await connect(COUNTED)
    things = [{"id": str(number), "name": "n"} for number in range(230)]
    values = it.service.values
    values["Query.skipped"] = lambda first=100, skip=0: things[skip : skip + first]
    values["Query.paged"] = lambda page=1, perPage=20: things[(page - 1) * perPage : page * perPage]  # noqa: N803
    values["Query.zeroed"] = lambda page: things[page * 90 : (page + 1) * 90]
    values["Query.wrapped"] = lambda offset=0, limit=10: {"items": things[offset : offset + limit], "total": 230}
    values["Query.stuck"] = lambda **_: things[:10]
    for name in ("skipped", "paged", "zeroed", "wrapped"):
        found = await it.call(f"query.{name}.all")
        assert ids(found) == list(range(230)) and found["complete"], name
    stuck = await it.call("query.stuck.all")
    assert ids(stuck) == list(range(10)) and not stuck["complete"]
    paths = {tool.path for tool in it.loaded.tools}
    assert not {"it.query.plain.all", "it.query.names.all"} & paths


async def test_mutations_and_single_things_without_lists_have_none(connect: Connect) -> None:
    it = await connect(FORGE)
    paths = {tool.path for tool in it.loaded.tools if tool.path.endswith(".all")}
    assert paths == {"it.query.viewer.all", "it.query.repository.all", "it.query.search.all"}


async def test_names_stay_when_a_schema_with_lists_is_read_again(connect: Connect) -> None:
    it = await connect(TRACKER)
    names = {tool.binding["operation"]: tool.path.removeprefix("it.") for tool in it.loaded.tools}
    request = it.kind.reload_request(source_of(it.loaded))
    again = await it.kind.load(replace(request, previous=Previous(names=names)))
    assert [tool.path for tool in again.tools] == [tool.path for tool in it.loaded.tools]


async def test_a_field_inside_a_document_is_a_call_of_its_own_tool_and_not_of_all_pages(connect: Connect) -> None:
    it = await connect(FORGE)
    found = read_operations((tool.path, tool.effect, tool.binding) for tool in it.loaded.tools)
    assert found.fields["query.search"] == "it.query.search"
    assert found.fields["query.repository"] == "it.query.repository"
