"""A service that answers 401 says which form of credential it takes, and a person is asked for that form."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from executor.sources.challenges import asked_for
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.graphql.service import Service
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json
from tests.sources.upstream import serving as upstream_serving
from tests.support.connection_harness import ConnectionHarness, value

BASIC = "Basic " + base64.b64encode(b"ann:pw").decode()
LOGIN = {"username": "ann", "password": "pw"}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with upstream_serving() as server:
        yield server


def require_credential(challenge: str, expected: str) -> Any:
    def answer(got: Got, handler: Handler) -> Reply:
        headers = {name.lower(): text for name, text in got.headers.items()}
        if headers.get("authorization") == expected:
            return as_json({"fine": True})
        return Reply(401, b"{}", headers={"WWW-Authenticate": challenge} if challenge else {})

    return answer


OPERATIONS = {
    "basic": ('Basic realm="Fake Realm"', "basic", LOGIN, BASIC),
    "several": ('Digest realm="a, b", nonce="x", Basic realm="c"', "basic", LOGIN, BASIC),
    "bearer": ('Bearer realm="x", error="invalid_token"', "bearer", {"token": "t"}, "Bearer t"),
    "token": ("Token", "api_key", {"token": "t"}, "Token t"),
    "silent": ("", "bearer", {"token": "t"}, "Bearer t"),
}


async def test_the_challenge_of_an_http_service_chooses_the_form(
    harness: ConnectionHarness, upstream: Upstream
) -> None:
    involved = {"digest": 'Digest realm="x", nonce="y"', "negotiate": "Negotiate", "hawk": "Hawk"}
    paths = {f"/{name}": {"get": {"operationId": f"get-{name}"}} for name in (*OPERATIONS, *involved)}
    document = {"openapi": "3.1.0", "info": {"title": "Door", "version": "1"}, "paths": paths}
    upstream.routes["/openapi.json"] = as_json(document)
    for name, header in involved.items():
        upstream.routes[f"/{name}"] = require_credential(header, "nothing")
    for name, (header, scheme, values, expected) in OPERATIONS.items():
        upstream.routes[f"/{name}"] = require_credential(header, expected)
        location, namespace = f"{upstream.url}/openapi.json", f"door{name}"
        request = SourceRequest(
            location=location, namespace=namespace, kind="openapi", consented=Consent(private_network=True)
        )
        await harness.executor.catalog.add_source(harness.workspace_id, request)
        paused = await harness.run(f"return await tools.{namespace}.{name}.get{name.title()}({{}})")
        [asked] = paused.interactions
        way = asked.prompt["credential"]["ways"][0]
        assert (way["scheme"], sorted(one["name"] for one in way["inputs"])) == (scheme, sorted(values)), name
        await harness.give(asked, values)
        assert value(await harness.wait(paused)) == {"fine": True}
    for name in involved:
        request = SourceRequest(
            location=location, namespace=f"in{name}", kind="openapi", consented=Consent(private_network=True)
        )
        await harness.executor.catalog.add_source(harness.workspace_id, request)
        failed = await harness.run(f"return await tools.in{name}.{name}.get{name.title()}({{}})")
        failure = failed.execution.failure
        assert failed.execution.status == "failed" and not failed.interactions and failure is not None
        assert f"requires {name.title()} authentication, which is not supported" in str(failure)


async def test_the_challenge_orders_what_a_document_offers(harness: ConnectionHarness, upstream: Upstream) -> None:
    schemes = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}, "login": {"type": "http", "scheme": "basic"}}
    paths = {"/a": {"get": {"operationId": "read"}}}
    info = {"title": "Door", "version": "1"}
    document = {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"securitySchemes": schemes}}
    upstream.routes["/openapi.json"] = as_json(document)
    upstream.routes["/a"] = require_credential('Basic realm="x"', BASIC)
    request = SourceRequest(
        location=f"{upstream.url}/openapi.json", namespace="door", consented=Consent(private_network=True)
    )
    await harness.executor.catalog.add_source(harness.workspace_id, request)
    [asked] = (await harness.run("return await tools.door.a.read({})")).interactions
    assert [way["name"] for way in asked.prompt["credential"]["ways"]] == ["login", "key"]


async def test_the_challenge_of_a_graphql_or_mcp_server_chooses_the_form(
    harness: ConnectionHarness, upstream: Upstream
) -> None:
    service = Service()
    upstream.routes["/graphql"] = service
    request = SourceRequest(
        location=f"{upstream.url}/graphql", namespace="blog", kind="graphql", consented=Consent(private_network=True)
    )
    await harness.executor.catalog.add_source(harness.workspace_id, request)
    upstream.routes["/graphql"] = require_credential('Basic realm="x"', "nothing")
    [asked] = (await harness.run("return await tools.blog.query.count({})")).interactions
    assert asked.prompt["credential"]["ways"][0]["scheme"] == "basic"
    for challenge, type in (
        ('Basic realm="x"', "http-basic"),
        ("Digest nonce=x, Bearer", "http-bearer"),
        ("Digest nonce=x", "unknown"),
    ):
        upstream.routes["/mcp"] = require_credential(challenge, "nothing")
        namespace = f"server_{type.replace('-', '_')}"
        request = SourceRequest(
            location=f"{upstream.url}/mcp", namespace=namespace, kind="mcp", consented=Consent(private_network=True)
        )
        source = await harness.executor.catalog.add_source(harness.workspace_id, request)
        assert source.config["auth"][0]["type"] == type and source.status == "failing"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (['Bearer realm="a", Basic realm="b, c", Digest nonce="d"'], ["http-bearer", "http-basic", "unknown"]),
        (["Negotiate", 'Basic realm="x"'], ["http-basic", "unknown"]),
        (['Bearer resource_metadata="https://a.example/x", scope="a b"'], ["oauth2"]),
        (['Basic realm="an \\"odd, Bearer\\" one"'], ["http-basic"]),
        (["basic"], ["http-basic"]),
        (["AWS4-HMAC-SHA256 x"], ["unknown"]),
        (['realm="no scheme"'], []),
        ([", ,=,"], []),
        (["\x00"], []),
        ([], []),
    ],
)
def test_challenges_are_read_as_the_standard_writes_them(headers: list[str], expected: list[str]) -> None:
    assert [one.type for one in asked_for(headers)] == expected
