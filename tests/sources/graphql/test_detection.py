from __future__ import annotations

import pytest

from executor.errors import SourceUnreachable
from executor.sources.graphql.kind import GraphQL
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.graphql.service import SDL, Service
from tests.sources.upstream import Reply, Upstream, as_json


def request_for(upstream: Upstream, path: str = "/graphql") -> SourceRequest:
    return SourceRequest(location=upstream.url + path, consented=Consent(private_network=True))


async def test_an_endpoint_is_recognised_by_its_answer(kind: GraphQL, service: Service, upstream: Upstream) -> None:
    found = await kind.probe(request_for(upstream))
    assert found is not None
    assert (found.kind, found.location, found.transport, found.auth) == (
        "graphql",
        upstream.url + "/graphql",
        "http",
        (),
    )
    assert [got.json for got in upstream.requests] == [{"query": "{__typename}"}]


@pytest.mark.parametrize("path", ["/graphql", "/api/graphql", "/query"])
async def test_the_root_of_a_host_is_asked_at_the_usual_places(kind: GraphQL, upstream: Upstream, path: str) -> None:
    upstream.routes[path] = Service()
    found = await kind.probe(request_for(upstream, "/"))
    assert found is not None
    assert found.location == found.base_url == upstream.url + path


async def test_any_other_address_is_asked_alone(kind: GraphQL, service: Service, upstream: Upstream) -> None:
    assert await kind.probe(request_for(upstream, "/v1/things")) is None
    assert [got.target for got in upstream.requests] == ["/v1/things"]


@pytest.mark.parametrize("status", [401, 403])
async def test_an_endpoint_that_wants_a_login_says_so(kind: GraphQL, upstream: Upstream, status: int) -> None:
    upstream.routes["/graphql"] = as_json({"message": "no"}, status, **{"WWW-Authenticate": 'Bearer realm="x"'})
    found = await kind.probe(request_for(upstream))
    assert found is not None
    assert [(one.name, one.type) for one in found.auth] == [("bearer", "http-bearer")]
    assert found.guarded and str(status) in found.note


async def test_errors_of_graphql_are_recognised_too(kind: GraphQL, upstream: Upstream) -> None:
    upstream.routes["/x"] = as_json({"errors": [{"message": "Unauthenticated", "locations": []}]})
    found = await kind.probe(request_for(upstream, "/x"))
    assert found is not None
    assert len(found.auth) == 1


@pytest.mark.parametrize(
    "reply",
    [
        as_json({"success": False, "errors": [{"message": "a REST service"}]}, 400),
        as_json({"errors": [{"title": "JSON:API"}]}, 400),
        as_json({"data": {"id": 1}}),
        as_json([]),
        as_json({"errors": [{"message": "nothing here"}]}, 404),
        Reply(401, b"no"),
        Reply(200, b"<html></html>", {"Content-Type": "text/html"}),
        Reply(200, b"x" * 200_000),
        Reply(302, headers={"Location": "/elsewhere"}),
    ],
)
async def test_what_is_not_graphql_is_not_claimed(kind: GraphQL, upstream: Upstream, reply: Reply) -> None:
    upstream.routes["/api"] = reply
    assert await kind.probe(request_for(upstream, "/api")) is None


async def test_a_host_that_is_not_there_is_an_error(kind: GraphQL, upstream: Upstream) -> None:
    request = SourceRequest(location="http://127.0.0.1:1/graphql", consented=Consent(private_network=True))
    with pytest.raises(SourceUnreachable):
        await kind.probe(request)


@pytest.mark.parametrize(
    ("document", "known"),
    [
        (SDL.encode(), True),
        (b'{"data": {"__schema": {}}}', True),
        (b"schema { query: Q } type Q { a: Int }", True),
        (b'{"openapi": "3.0.0"}', False),
        (b"openapi: 3.0.0\ntype Query { x }", False),
        (b"<html>\ntype Query { a: Int }", False),
        (b"\xff\xfe\x00", False),
        (b"", False),
    ],
)
async def test_documents_are_recognised_by_their_look(kind: GraphQL, document: bytes, known: bool) -> None:
    found = await kind.probe(SourceRequest(location="file", document=document))
    assert (found is not None) is known
    if found is not None:
        assert "base URL" in found.note


async def test_the_address_of_a_schema_file_is_recognised(kind: GraphQL, upstream: Upstream) -> None:
    upstream.routes["/schema.graphql"] = Reply(200, SDL.encode())
    found = await kind.probe(request_for(upstream, "/schema.graphql"))
    assert found is not None
    assert "base URL" in found.note
    assert [got.method for got in upstream.requests] == ["GET"]


@pytest.mark.parametrize(
    ("file", "namespace"),
    [
        ("/home/me/linear.graphql", "linear"),
        ("C:\\schemas\\Acme Shop.graphqls", "acme_shop"),
        ("saleor.schema.json", "saleor"),
        ("schema.graphql", "example"),
        ("introspection.json", "example"),
        ("executor.graphql", "example"),
        ("", "example"),
    ],
)
async def test_a_file_gives_its_name_to_the_namespace_if_that_says_anything(
    kind: GraphQL, file: str, namespace: str
) -> None:
    base_url = "https://api.example.com/graphql"
    request = SourceRequest(location=file, document=SDL.encode(), base_url=base_url)
    found = await kind.probe(request)
    assert found is not None and found.namespace == namespace
    assert (await kind.load(request)).namespace == namespace


async def test_two_files_for_one_address_get_namespaces_of_their_own(kind: GraphQL, upstream: Upstream) -> None:
    for name in ("orders", "stock"):
        request = SourceRequest(
            location=f"{name}.graphql",
            document=SDL.encode(),
            base_url=upstream.url + "/graphql",
            consented=Consent(private_network=True),
        )
        assert (await kind.load(request)).namespace == name
