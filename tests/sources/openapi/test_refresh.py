"""Reading a source again: what is asked, what is kept, and whom its headers reach."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from executor.errors import EgressRefused, ToolError
from executor.model.source import Loaded, Source
from executor.network.client import Egress
from executor.sources.kind import Unchanged
from executor.sources.openapi.kind import OpenApi
from executor.sources.source_request import Consent, Previous, SourceRequest
from tests.sources.openapi.documents import document, load
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json

PATHS = {"/a": {"get": {"operationId": "one"}}}


@pytest.fixture
async def kind(egress: Egress) -> AsyncIterator[OpenApi]:
    yield OpenApi(egress)


def source_of(loaded: Loaded) -> Source:
    return Source("s", "w", "openapi", loaded.namespace, loaded.name, loaded.config)


def request_of(upstream: Upstream, **parts: Any) -> SourceRequest:
    return SourceRequest(location=upstream.url + "/openapi.json", consented=Consent(private_network=True), **parts)


@pytest.mark.parametrize(
    ("given", "asked"),
    [({"ETag": '"v1"'}, {"if-none-match": '"v1"'}), ({"Last-Modified": "Mon"}, {"if-modified-since": "Mon"})],
)
async def test_a_document_that_has_not_changed_is_not_sent_again(
    kind: OpenApi, upstream: Upstream, given: dict[str, str], asked: dict[str, str]
) -> None:
    def answer(got: Got, handler: Handler) -> Reply:
        same = all(got.headers.get(name) == value for name, value in asked.items())
        return Reply(304) if same else as_json(document(PATHS), **given)

    upstream.routes["/openapi.json"] = answer
    loaded = await kind.load(request_of(upstream))
    with pytest.raises(Unchanged):
        await kind.load(kind.reload_request(source_of(loaded)))


async def test_equal_bytes_are_unchanged_and_other_bytes_are_not(kind: OpenApi, upstream: Upstream) -> None:
    upstream.routes["/openapi.json"] = as_json(document(PATHS))
    loaded = await kind.load(request_of(upstream))
    again = kind.reload_request(source_of(loaded))
    with pytest.raises(Unchanged):
        await kind.load(again)
    older = replace(again, previous=Previous(validators={**again.validators, "reader": "older"}))
    assert (await kind.load(older)).document_digest == loaded.document_digest
    upstream.routes["/openapi.json"] = as_json(document({**PATHS, "/b": {"get": {}}}))
    assert len((await kind.load(again)).tools) == 2


def test_unchanged_operations_keep_their_names() -> None:
    first = load({"/a": {"get": {"operationId": "list"}}})
    names = {"GET /a": "a.list"}
    assert [tool.path for tool in first.tools] == ["things.a.list"]
    clash = {"/a": {"get": {"operationId": "list"}}, "/a/b": {"get": {"operationId": "list"}}}
    from executor.sources.openapi.kind import build_catalog
    from tests.sources.openapi.documents import LOCATION

    def paths(names: dict[str, str], paths: dict[str, Any]) -> list[str]:
        text = json.dumps(document(paths)).encode()
        return [
            tool.path
            for tool in build_catalog(
                SourceRequest(location=LOCATION, previous=Previous(names=names)), text, LOCATION
            ).tools
        ]

    kept, newcomer = paths(names, clash)
    assert kept == "things.a.list" and newcomer == "things.a.getList"
    assert paths(names, {"/a": {"get": {"operationId": "renamed", "tags": ["other"]}}}) == ["things.a.list"]
    assert paths({"GET /a": "things.a.list.all"}, {"/a": {"get": {}}}) == ["things.a.list"]
    old = {"GET /a": "aV1.aV1List_1f2e", "GET /a/b": "group0.getApi0AB"}
    assert paths(old, clash) == ["things.aV1.aV1List_1f2e", "things.group0.getApi0AB"]
    assert paths({"GET /a": "__proto__.then"}, {"/a": {"get": {}}}) == ["things.a.getA"]


async def test_the_headers_of_a_source_go_with_every_request_to_it(kind: OpenApi, upstream: Upstream) -> None:
    upstream.routes["/openapi.json"] = as_json(document(PATHS))
    upstream.routes["/a"] = as_json({})
    loaded = await kind.load(request_of(upstream, headers=(("Authorization", "Bearer t"), ("X-A", "1"))))
    await kind.invoke(source_of(loaded), loaded.tools[0], {}, "")
    with pytest.raises(Unchanged):
        await kind.load(kind.reload_request(source_of(loaded)))
    assert [got.headers.get("authorization") for got in upstream.requests] == ["Bearer t"] * 3


async def test_the_headers_of_a_source_reach_no_other_origin(
    kind: OpenApi, upstream: Upstream, elsewhere: Upstream
) -> None:
    paths = {"/a": {"servers": [{"url": elsewhere.url}], "get": {"operationId": "far"}}, "/b": {"get": {}}}
    upstream.routes["/openapi.json"] = as_json(document(paths))
    upstream.routes["/b"] = Reply(302, headers={"Location": elsewhere.url + "/b"})
    elsewhere.otherwise = as_json({})
    loaded = await kind.load(request_of(upstream, headers=(("Authorization", "Bearer t"),)))
    source = source_of(loaded)
    source.config["origins"].append(elsewhere.url)
    for tool in loaded.tools:
        await kind.invoke(source, tool, {}, "")
    assert len(elsewhere.requests) == 2
    assert all("authorization" not in got.headers for got in elsewhere.requests)


async def test_a_document_elsewhere_does_not_get_the_headers_of_the_service(
    kind: OpenApi, upstream: Upstream, elsewhere: Upstream
) -> None:
    elsewhere.routes["/spec.json"] = as_json(document(PATHS))
    request = SourceRequest(
        location=upstream.url,
        spec_url=elsewhere.url + "/spec.json",
        base_url=upstream.url,
        headers=(("Authorization", "Bearer t"),),
        consented=Consent(private_network=True),
    )
    upstream.routes["/a"] = as_json({})
    loaded = await kind.load(request)
    await kind.invoke(source_of(loaded), loaded.tools[0], {}, "")
    assert "authorization" not in elsewhere.requests[0].headers
    assert upstream.requests[-1].headers["authorization"] == "Bearer t"


async def test_arguments_can_not_replace_the_headers_of_a_source(kind: OpenApi, upstream: Upstream) -> None:
    parameters = [{"name": "X-Key", "in": "header"}, {"name": "c", "in": "cookie"}]
    upstream.routes["/openapi.json"] = as_json(document({"/a": {"get": {"parameters": parameters}}}))
    upstream.routes["/a"] = as_json({})
    loaded = await kind.load(request_of(upstream, headers=(("x-key", "fixed"), ("Cookie", "session=1"))))
    await kind.invoke(source_of(loaded), loaded.tools[0], {"X-Key": "other", "c": "2"}, "")
    assert upstream.requests[-1].headers["x-key"] == "fixed"
    assert upstream.requests[-1].headers["cookie"] == "session=1; c=2"


async def test_an_operations_own_server_is_bound_by_what_was_granted(kind: OpenApi, upstream: Upstream) -> None:
    paths = {"/a": {"get": {"servers": [{"url": "http://10.0.0.1"}]}}}
    upstream.routes["/openapi.json"] = as_json(document(paths))
    loaded = await kind.load(request_of(upstream))
    with pytest.raises(ToolError) as caught:
        await kind.invoke(source_of(loaded), loaded.tools[0], {}, "")
    assert caught.value.tool_code == "egress_refused"


async def test_the_grant_of_a_source_does_not_grow(kind: OpenApi, upstream: Upstream) -> None:
    upstream.routes["/openapi.json"] = as_json(document(PATHS))
    loaded = await kind.load(request_of(upstream))
    upstream.routes["/openapi.json"] = as_json(document(PATHS, servers=[{"url": "http://127.0.0.1:9"}]))
    with pytest.raises(EgressRefused):
        await kind.load(kind.reload_request(source_of(loaded)))
