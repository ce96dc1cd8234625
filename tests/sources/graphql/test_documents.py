"""Documents of one's own: what they hold is decided by parsing, and nothing can hide a mutation."""

from __future__ import annotations

from typing import Any

import pytest

from executor.errors import ToolError
from executor.model.source import Loaded
from executor.sources.graphql.kind import GraphQL
from tests.sources.graphql.conftest import Call
from tests.sources.graphql.service import Service, source_of, tool_of
from tests.sources.upstream import Upstream


async def test_a_query_of_ones_own_gives_all_its_data(call: Call) -> None:
    query = "query Two($id: ID!) { a: user(id: $id) { ...N } b: count } fragment N on User { name }"
    assert await call("graphql.query", query=query, variables={"id": "2"}) == {"a": {"name": "Bo"}, "b": 2}


async def test_one_of_several_operations_is_run_by_name(call: Call) -> None:
    query = "query A { count } query B { user(id: 1) { id } }"
    assert await call("graphql.query", query=query, operationName="B") == {"user": {"id": "1"}}
    for name in ("", "C"):
        with pytest.raises(ToolError, match="operationName: it must name one of the document's operations: A, B"):
            await call("graphql.query", query=query, operationName=name)


@pytest.mark.parametrize(
    "query",
    [
        'mutation { deletePost(id: "p1") }',
        'mutation { count: deletePost(id: "p1") }',
        '# query\n,,, mutation query { deletePost(id: "p1") }',
        '\ufeffmutation{deletePost(id:"p1")}',
        'query A { count } mutation B { deletePost(id: "p1") }',
        'mutation B { deletePost(id: "p1") } query A { count }',
        'query A { count } mutation B { ...F } fragment F on Mutation { deletePost(id: "p1") }',
        'mutation @skip(if: false) { deletePost(id: "p1") }',
        "subscription { ticks }",
    ],
)
async def test_the_tool_for_queries_sends_nothing_else(
    kind: GraphQL, loaded: Loaded, service: Service, upstream: Upstream, query: str
) -> None:
    tool = tool_of(loaded, "graphql.query")
    for arguments in ({"query": query}, {"query": query, "operationName": "A"}):
        with pytest.raises(ToolError) as caught:
            kind.arrange(tool, dict(arguments))
        assert caught.value.tool_code == "invalid_arguments"
        with pytest.raises(ToolError) as caught:
            await kind.invoke(source_of(loaded), tool, dict(arguments), "key")
        assert caught.value.tool_code == "invalid_arguments"
    assert not upstream.requests
    assert not service.root.written


@pytest.mark.parametrize(
    "query", [["{count}"], [{"query": 'mutation { deletePost(id: "p1") }'}], {"query": "{count}"}, None, 1]
)
async def test_batches_are_refused(kind: GraphQL, loaded: Loaded, upstream: Upstream, query: Any) -> None:
    with pytest.raises(ToolError, match="one document as text"):
        await kind.invoke(source_of(loaded), tool_of(loaded, "graphql.query"), {"query": query}, "key")
    assert not upstream.requests


async def test_a_fragment_on_the_mutation_type_can_not_ride_on_a_query(call: Call, service: Service) -> None:
    query = 'query { ...F } fragment F on Mutation { deletePost(id: "p1") }'
    with pytest.raises(ToolError, match="can never be of type"):
        await call("graphql.query", query=query)
    assert not service.root.written


async def test_text_in_strings_and_comments_is_no_mutation(call: Call) -> None:
    query = 'query { echo(value: "mutation { deletePost }") # mutation { deletePost }\n }'
    assert (await call("graphql.query", query=query))["echo"]["value"] == "mutation { deletePost }"


async def test_what_is_sent_is_what_was_parsed(call: Call, upstream: Upstream) -> None:
    await call("graphql.query", query="\ufeff# a comment\n{,,,count}")
    assert upstream.requests[-1].json["query"] == "{\n  count\n}"


async def test_the_tool_for_mutations_sends_them(call: Call, service: Service) -> None:
    query = "mutation M($id: ID!) { deletePost(id: $id) }"
    assert await call("graphql.mutate", query=query, variables={"id": "p1"}) == {"deletePost": True}
    assert service.root.written == [("deletePost", "p1")]


async def test_a_document_is_checked_against_the_schema(call: Call, upstream: Upstream) -> None:
    with pytest.raises(ToolError, match=r"Cannot query field 'usr' on type 'Query'\. Did you mean 'user'") as caught:
        await call("graphql.query", query="{ usr { id } }")
    assert caught.value.hint.startswith("Query has: user, users")
    assert not upstream.requests


async def test_introspection_and_directives_of_the_service_pass(call: Call) -> None:
    found = await call("graphql.query", query='{ __type(name: "Post") { name } count @include(if: true) }')
    assert found == {"__type": {"name": "Post"}, "count": 2}


def nested_query(depth: int) -> str:
    return "{ user(id: 1) " + "{ friends " * depth + "{ id }" + " }" * (depth + 1)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (nested_query(40), "levels deep"),
        (nested_query(2_000), "nested too deeply|levels deep"),
        ("{ " + "count " * 6_000 + "}", "tokens"),
        ("{ count } # " + "x" * 100_000, "longer than"),
        ("{ count }" + "".join(f" fragment F{n} on User {{ id }}" for n in range(101)), "fragments"),
        ("{ echo(value: " + "[" * 1_500 + "]" * 1_500 + ") }", "nested too deeply"),
        ("fragment F on User { id }", "only operations"),
        ("type Query { a: Int }", "only operations"),
        ("{ count", "Syntax Error"),
        ("", "Syntax Error"),
    ],
)
async def test_documents_that_are_too_much_are_refused(call: Call, upstream: Upstream, query: str, says: str) -> None:
    with pytest.raises(ToolError, match=says) as caught:
        await call("graphql.query", query=query)
    assert caught.value.tool_code == "invalid_arguments"
    assert not upstream.requests


async def test_a_document_that_repeats_a_field_thousands_of_times_is_not_compared_with_itself(
    kind: GraphQL, loaded: Loaded
) -> None:
    """Each with each would be twelve million comparisons, which the library gives up on after a while."""
    arguments = {"query": "{ " + "count " * 4_900 + "}"}
    await kind.check(source_of(loaded), tool_of(loaded, "graphql.query"), arguments)
