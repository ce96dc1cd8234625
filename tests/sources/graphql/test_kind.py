from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from graphql import get_introspection_query, graphql_sync

from executor.errors import DocumentInvalid, EgressRefused, SourceUnreachable
from executor.model.source import Loaded
from executor.network.client import Egress
from executor.sources.graphql.kind import GraphQL
from executor.sources.kind import Unchanged
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.graphql.conftest import Call
from tests.sources.graphql.service import SDL, Service, source_of, tool_of
from tests.sources.upstream import Reply, Upstream, as_json


def paths(loaded: Loaded) -> list[str]:
    return [tool.path for tool in loaded.tools]


async def test_every_query_and_mutation_is_a_tool_and_subscriptions_are_named(loaded: Loaded) -> None:
    assert paths(loaded) == [
        "blog.query.user", "blog.query.users", "blog.query.posts", "blog.query.posts.all",
        "blog.query.search", "blog.query.node", "blog.query.count",
        "blog.query.echo", "blog.query.picked", "blog.query.old",
        "blog.mutation.createPost", "blog.mutation.deletePost", "blog.mutation.renameUser",
        "blog.graphql.query", "blog.graphql.mutate", "blog.graphql.type",
    ]  # fmt: skip
    assert [(one.where, one.reason[:28]) for one in loaded.skipped] == [
        ("subscription", "1 subscription is left out: ")
    ]


async def test_effects_follow_from_the_operation_and_its_name(loaded: Loaded) -> None:
    effects = {tool.path.removeprefix("blog."): tool.effect for tool in loaded.tools}
    assert effects["query.user"] == "read"
    assert effects["mutation.createPost"] == "write"
    assert effects["mutation.deletePost"] == "destructive"
    assert effects["graphql.query"] == "read"
    assert effects["graphql.mutate"] == "destructive"
    assert not any(tool.idempotent for tool in loaded.tools)
    assert tool_of(loaded, "query.old").deprecated


async def test_a_query_gives_what_its_type_shows(call: Call) -> None:
    assert await call("query.user", id="1") == {
        "id": "1", "name": "Ada", "role": "ADMIN", "settings": {"a": [1]},
        "posts": [{"id": "p1", "title": "Hello", "length": 5}],
        "friends": [{"id": "2", "name": "Bo", "role": None}],
    }  # fmt: skip


async def test_the_same_schema_gives_the_same_tools_from_a_file_and_from_the_service(
    kind: GraphQL, loaded: Loaded, service: Service, upstream: Upstream
) -> None:
    answered = graphql_sync(service.schema, get_introspection_query(input_value_deprecation=True)).formatted
    for document in (SDL.encode(), as_json(answered).body, as_json(answered["data"]).body):
        request = SourceRequest(
            location="schema",
            document=document,
            base_url=upstream.url + "/graphql",
            namespace="blog",
            consented=Consent(private_network=True),
        )
        other = await kind.load(request)
        assert [replace(tool, description="") for tool in other.tools] == [
            replace(tool, description="") for tool in loaded.tools
        ]
        assert other.definitions == loaded.definitions


async def test_a_schema_can_be_read_from_an_address_of_its_own(kind: GraphQL, upstream: Upstream) -> None:
    upstream.routes["/files/schema.graphql"] = Reply(200, SDL.encode())
    upstream.routes["/graphql"] = Service()
    endpoint, schema = upstream.url + "/graphql", upstream.url + "/files/schema.graphql"
    for request in (
        SourceRequest(location=schema, base_url=endpoint, consented=Consent(private_network=True)),
        SourceRequest(location=endpoint, spec_url=schema, consented=Consent(private_network=True)),
    ):
        found = await kind.load(request)
        assert found.config["base_url"] == endpoint
        assert "__schema" not in str(upstream.requests)
        assert await kind.invoke(source_of(found), tool_of(found, "query.count"), {}, "key") == "2"


async def test_a_schema_without_an_endpoint_says_what_to_give(kind: GraphQL) -> None:
    with pytest.raises(DocumentInvalid, match="where its service is") as caught:
        await kind.load(SourceRequest(location="schema.graphql", document=SDL.encode()))
    assert "`baseUrl`" in caught.value.hint


async def test_introspection_that_is_switched_off_asks_for_a_schema_file(
    kind: GraphQL, service: Service, upstream: Upstream
) -> None:
    service.introspects = False
    with pytest.raises(DocumentInvalid, match="introspection is not allowed") as caught:
        await kind.load(SourceRequest(location=upstream.url + "/graphql", consented=Consent(private_network=True)))
    assert "add its schema instead" in caught.value.hint


async def test_a_service_that_knows_only_old_introspection_is_asked_again(kind: GraphQL, upstream: Upstream) -> None:
    service = Service()

    def old(got, handler):  # type: ignore[no-untyped-def]
        if "isOneOf" in got.json["query"]:
            return as_json({"errors": [{"message": "Cannot query field 'isOneOf'"}]}, 400)
        return service(got, handler)

    upstream.routes["/graphql"] = old
    found = await kind.load(
        SourceRequest(location=upstream.url + "/graphql", namespace="b", consented=Consent(private_network=True))
    )
    assert "b.mutation.createPost" in paths(found)


@pytest.mark.parametrize(
    ("reply", "error", "says"),
    [
        (Reply(200, b"<html>hi</html>", {"Content-Type": "text/html"}), DocumentInvalid, "not a GraphQL endpoint"),
        (as_json({"hello": 1}), DocumentInvalid, "contains no schema"),
        (as_json({"data": None}), DocumentInvalid, "contains no schema"),
        (as_json({"data": {"__schema": {"types": 1}}}), DocumentInvalid, "no list of types"),
        (as_json({"data": {"__schema": {"types": []}}}), DocumentInvalid, "no queries"),
        (Reply(401, b"no"), SourceUnreachable, "401"),
        (as_json({"errors": [{"message": "who are you"}]}, 403), SourceUnreachable, "403"),
        (Reply(404, b"no"), SourceUnreachable, "404"),
        (Reply(500, b"no"), SourceUnreachable, "500"),
        (as_json({"errors": [{"message": "You must authenticate"}]}), SourceUnreachable, "must authenticate"),
    ],
)
async def test_services_that_can_not_be_read_say_why(
    kind: GraphQL, upstream: Upstream, reply: Reply, error: type[Exception], says: str
) -> None:
    upstream.routes["/graphql"] = reply
    with pytest.raises(error, match=says) as caught:
        await kind.load(SourceRequest(location=upstream.url + "/graphql", consented=Consent(private_network=True)))
    assert caught.value.hint  # type: ignore[attr-defined]


async def test_a_login_that_is_missing_is_asked_for(kind: GraphQL, upstream: Upstream) -> None:
    upstream.routes["/graphql"] = Reply(401, b"no")
    with pytest.raises(SourceUnreachable) as caught:
        await kind.load(SourceRequest(location=upstream.url + "/graphql", consented=Consent(private_network=True)))
    assert caught.value.details["reason"] == "auth"


async def test_a_schema_that_never_comes_times_out(egress: Egress, upstream: Upstream) -> None:
    release = threading.Event()
    upstream.routes["/graphql"] = lambda got, handler: (release.wait(120), as_json({}))[1]
    with pytest.raises(SourceUnreachable, match="did not answer"):
        await GraphQL(egress, load_seconds=0.2).load(
            SourceRequest(location=upstream.url + "/graphql", consented=Consent(private_network=True))
        )
    release.set()


async def test_headers_of_the_source_go_with_every_request(kind: GraphQL, service: Service, upstream: Upstream) -> None:
    headers = (("Authorization", "Bearer s3cret"), ("X-Team", "a"), ("content-type", "text/plain"))
    request = SourceRequest(
        location=upstream.url + "/graphql", headers=headers, consented=Consent(private_network=True)
    )
    assert await kind.probe(request) is not None
    found = await kind.load(request)
    await kind.invoke(source_of(found), tool_of(found, "query.count"), {}, "key")
    assert len(upstream.requests) == 3
    assert all(got.headers["authorization"] == "Bearer s3cret" for got in upstream.requests)
    assert all(got.headers["x-team"] == "a" for got in upstream.requests)
    assert all(got.headers["content-type"] == "application/json" for got in upstream.requests)


async def test_a_schema_on_another_origin_does_not_get_the_headers(
    kind: GraphQL, upstream: Upstream, elsewhere: Upstream
) -> None:
    elsewhere.routes["/s.graphql"] = Reply(200, SDL.encode())
    await kind.load(
        SourceRequest(
            location=upstream.url + "/graphql",
            spec_url=elsewhere.url + "/s.graphql",
            headers=(("Authorization", "Bearer s3cret"),),
            consented=Consent(private_network=True),
        )
    )
    assert "authorization" not in elsewhere.requests[0].headers


async def test_reading_again_tells_that_nothing_has_changed(
    kind: GraphQL, loaded: Loaded, upstream: Upstream, service: Service
) -> None:
    again = kind.reload_request(source_of(loaded))
    with pytest.raises(Unchanged):
        await kind.load(again)
    upstream.routes["/graphql"] = Service(SDL.replace("count: Int!", "count: Int! total: Int!"))
    fresh = await kind.load(again)
    assert set(paths(fresh)) - set(paths(loaded)) == {"blog.query.total"}
    assert tool_of(fresh, "query.user").schema_digest == tool_of(loaded, "query.user").schema_digest


async def test_the_order_of_types_is_no_change(
    kind: GraphQL, loaded: Loaded, service: Service, upstream: Upstream
) -> None:
    def reverse_types(got, handler):  # type: ignore[no-untyped-def]
        body = orjson.loads(service(got, handler).body)
        body["data"]["__schema"]["types"].reverse()
        return as_json(body)

    upstream.routes["/graphql"] = reverse_types
    with pytest.raises(Unchanged):
        await kind.load(kind.reload_request(source_of(loaded)))


async def test_an_agent_can_not_reach_the_private_network(kind: GraphQL, service: Service, upstream: Upstream) -> None:
    with pytest.raises(EgressRefused):
        await kind.load(SourceRequest(location=upstream.url + "/graphql"))
    with pytest.raises(EgressRefused):
        await kind.load(SourceRequest(document=SDL.encode(), base_url=upstream.url + "/graphql"))
    with pytest.raises(EgressRefused):
        await kind.probe(SourceRequest(location=upstream.url + "/graphql"))
    assert upstream.connections == 0


async def test_files_are_read_only_when_a_source_is_read_again(kind: GraphQL, tmp_path: Path) -> None:
    path = tmp_path / "schema.graphql"
    path.write_text(SDL)
    request = SourceRequest(
        location=str(path), base_url="https://api.example.com/graphql", consented=Consent(private_network=True)
    )
    with pytest.raises(EgressRefused):
        await kind.load(request)
    found = await kind.load(replace(request, document=path.read_bytes()))
    assert found.namespace == "example"
    path.write_text(SDL.replace("count:", "total:"))
    fresh = await kind.load(kind.reload_request(source_of(found)))
    assert "example.query.total" in paths(fresh)


async def test_raw_tools_can_be_left_out(kind: GraphQL, service: Service, upstream: Upstream) -> None:
    request = SourceRequest(
        location=upstream.url + "/graphql", options={"raw": False}, consented=Consent(private_network=True)
    )
    assert not any(".graphql." in path for path in paths(await kind.load(request)))
