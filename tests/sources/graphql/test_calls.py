"""Calls of fields: arguments, default selections, and selections that the caller writes."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from executor.errors import ToolError
from executor.model.source import Loaded
from executor.model.tool import Schema
from executor.sources.graphql.kind import GraphQL
from tests.sources.graphql.conftest import Call
from tests.sources.graphql.service import Service, source_of, tool_of
from tests.sources.upstream import Upstream


def with_definitions(schema: Schema | None, loaded: Loaded) -> Schema:
    return {**(schema or {}), "$defs": dict(loaded.definitions)}


async def refusal(call: Call, name: str, /, **arguments: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await call(name, **arguments)
    assert caught.value.tool_code == "invalid_arguments"
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("query.user", {"id": "1"}),
        ("query.user", {"id": "none"}),
        ("query.users", {"filter": {"and": [{"text": "a"}, {"and": []}], "role": "ADMIN"}}),
        ("query.posts", {"first": 1}),
        ("query.search", {"text": "x"}),
        ("query.node", {"id": "p1"}),
        ("query.count", {}),
        ("query.echo", {"select": "its own", "value": {"any": [1, None]}}),
        ("mutation.createPost", {"input": {"title": "T", "author": 1, "settings": [1]}}),
        ("mutation.deletePost", {"id": "p1"}),
    ],
)
async def test_arguments_and_results_fit_their_schemas(
    call: Call, loaded: Loaded, name: str, arguments: dict[str, Any]
) -> None:
    tool = tool_of(loaded, name)
    jsonschema_rs.validate(with_definitions(tool.input_schema, loaded), arguments)
    jsonschema_rs.validate(with_definitions(tool.output_schema, loaded), await call(name, **arguments))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("query.user", {}),
        ("query.user", {"id": None}),
        ("query.user", {"id": "1", "other": 1}),
        ("query.users", {"filter": {"role": "KING"}}),
        ("query.users", {"filter": {"and": [{"and": [{"txt": "deep inside"}]}]}}),
        ("query.posts", {"first": "1"}),
        ("query.posts", {"select": {"totalCount": True}}),
        ("mutation.createPost", {"input": {"title": "T"}}),
    ],
)
async def test_arguments_that_do_not_fit_are_reported_by_the_schema(
    loaded: Loaded, name: str, arguments: dict[str, Any]
) -> None:
    validator = jsonschema_rs.validator_for(with_definitions(tool_of(loaded, name).input_schema, loaded))
    assert not validator.is_valid(arguments)


async def test_output_schemas_are_as_narrow_as_the_selection(loaded: Loaded) -> None:
    output = jsonschema_rs.validator_for(with_definitions(tool_of(loaded, "query.user").output_schema, loaded))
    assert output.is_valid(None)
    assert not output.is_valid({"id": "1"})
    assert not output.is_valid(7)


async def test_values_are_sent_as_variables_and_only_those_given(call: Call, upstream: Upstream) -> None:
    tricky = '1") { id } } mutation { deletePost(id: "p1") } #'
    await call("query.user", id=tricky)
    sent = upstream.requests[-1].json
    assert sent["variables"] == {"id": tricky}
    assert tricky not in sent["query"]
    assert sent["query"].startswith("query user($id:ID!){user(id:$id){")
    await call("query.users")
    assert upstream.requests[-1].json == {"query": upstream.requests[-1].json["query"], "variables": {}}
    assert "limit" not in upstream.requests[-1].json["query"]


async def test_integers_of_any_size_are_sent(call: Call, upstream: Upstream) -> None:
    await call("query.echo", value=10**30)
    assert upstream.requests[-1].json["variables"] == {"value": 10**30}


async def test_null_is_sent_when_it_is_given(call: Call, upstream: Upstream) -> None:
    await call("query.echo", value=None)
    assert upstream.requests[-1].json["variables"] == {"value": None}


async def test_a_connection_shows_what_it_connects_and_how_to_go_on(call: Call) -> None:
    page = await call("query.posts", first=1)
    assert page["totalCount"] == 2
    assert page["pageInfo"] == {"hasNextPage": True, "endCursor": "p1"}
    assert page["edges"][0]["node"]["author"]["name"] == "Ada"


async def test_a_union_shows_each_type_it_can_be(call: Call) -> None:
    user, post = await call("query.search", text="x")
    assert (user["__typename"], user["name"]) == ("User", "Ada")
    assert (post["__typename"], post["title"]) == ("Post", "Hello")


async def test_an_interface_shows_what_each_implementation_adds(call: Call) -> None:
    node = await call("query.node", id="p2")
    assert node.pop("author")["name"] == "Bo"
    assert node == {"__typename": "Post", "id": "p2", "title": "World", "length": None}


async def test_a_mutation_shows_what_it_made(call: Call, service: Service) -> None:
    made = await call("mutation.createPost", input={"title": "New", "author": "1"})
    assert made["post"]["title"] == "New"
    assert made["post"]["author"]["name"] == "Ada"
    assert service.root.written == [("createPost", {"title": "New", "author": "1"})]


async def test_select_chooses_the_fields(call: Call) -> None:
    assert await call("query.user", id="1", select='{ name posts(tag: "x") { title } }') == {
        "name": "Ada",
        "posts": [{"title": "Hello"}],
    }
    assert await call("query.user", id="1", select="name friend: friends { id }") == {
        "name": "Ada",
        "friend": [{"id": "2"}],
    }


async def test_select_takes_fragments_and_types_of_unions(call: Call) -> None:
    fragments = "fragment P on Post { title author { ...U } } fragment U on User { id }"
    select = "{ kind: __typename ...P ... on User { name } } " + fragments
    assert await call("query.search", text="x", select=select) == [
        {"kind": "User", "name": "Ada"},
        {"kind": "Post", "title": "Hello", "author": {"id": "1"}},
    ]


@pytest.mark.parametrize(
    ("select", "says"),
    [
        ("{ nam }", "Did you mean 'name'"),
        ("{ posts }", "must have a selection"),
        ("{ name { first } }", "must not have a selection"),
        ("{ best { id } }", "'Int!' is required"),
        ("{ posts(tog: 1) { id } }", "Unknown argument 'tog'"),
        ("{ ... on Post { id } }", "can never be of type"),
        ("{ ...Missing }", "Unknown fragment"),
        ("{ ...A } fragment A on User { ...A }", "Cannot spread fragment 'A' within itself"),
        ("{ posts(tag: $x) { id } }", "Variable '$x' is not defined"),
        ("{ id", "Syntax Error"),
        ("{ }", "Syntax Error"),
        ("   ", "selection as text"),
        ("{ id } { name }", "one selection"),
        ("query { id }", "Cannot query field 'query'"),
        ("{ id } } mutation { deletePost(id: 1)", "Syntax Error"),
        ("{ id } mutation { deletePost(id: 1) }", "one selection"),
        ("{ id } type X { a: Int }", "one selection"),
    ],
)
async def test_a_selection_that_does_not_fit_is_refused_before_anything_is_sent(
    call: Call, upstream: Upstream, select: str, says: str
) -> None:
    error = await refusal(call, "query.user", id="1", select=select)
    assert says in error.message
    assert error.tool_details["problems"][0]["at"] == "/select"
    assert not upstream.requests


async def test_an_unknown_field_is_answered_with_the_fields_there_are(call: Call) -> None:
    error = await refusal(call, "query.user", id="1", select="{ posts { zzzz } }")
    assert error.hint == "Post has: id, title, author, length"


async def test_a_selection_can_be_checked_without_a_call(kind: GraphQL, loaded: Loaded, upstream: Upstream) -> None:
    tool = tool_of(loaded, "mutation.createPost")
    arguments: dict[str, Any] = {"input": {"title": "T", "author": "1"}, "select": "{ post { titel } }"}
    with pytest.raises(ToolError, match="Did you mean 'title'"):
        await kind.check(source_of(loaded), tool, arguments)
    await kind.check(source_of(loaded), tool, {**arguments, "select": "{ post { title } }"})
    assert not upstream.requests


async def test_select_makes_way_for_an_argument_of_that_name(call: Call, loaded: Loaded) -> None:
    assert await call("query.picked", select=1, selectFields="{ name }") == {"name": "Ada"}
    assert "selectFields" not in tool_of(loaded, "query.echo").input_schema["properties"]


async def test_what_can_be_selected_can_be_asked_without_the_service(call: Call, upstream: Upstream) -> None:
    assert "best(count: Int!): [Post!]" in await call("graphql.type", name="User")
    assert "limit: Int! = 2" in await call("graphql.type", name="Query")
    error = await refusal(call, "graphql.type", name="Usr")
    assert "User" in error.hint
    assert not upstream.requests
