"""A service that refuses what strict frameworks refuse: a content type without content, and content without one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from executor.model.source import Source
from executor.network.client import Egress
from executor.sources.openapi.kind import OpenApi
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.openapi.documents import document, json_body
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json

FIELDS = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
OK = {"responses": {"200": {"description": "", "content": {"application/json": {"schema": {"type": "object"}}}}}}


def strict(got: Got, handler: Handler) -> Reply:
    """Fastify answers 415 to an unknown type and 400 to an empty body that is said to be JSON."""
    typed, length = got.headers.get("content-type"), got.headers.get("content-length")
    if typed is not None and not got.body:
        return as_json({"message": f"Unsupported Media Type: {typed}"}, 415)
    if typed is None and got.body:
        return as_json({"message": "a body of no type"}, 415)
    if not got.body and length != ("0" if got.method in ("POST", "PUT", "PATCH") else None):
        return as_json({"message": f"Content-Length: {length} on a {got.method}"}, 400)
    return as_json({"body": got.body.decode("utf-8", "replace")})


async def send(upstream: Upstream, method: str, body: dict[str, Any] | None, given: dict[str, Any]) -> str:
    operation = {**OK, "requestBody": body} if body else OK
    upstream.routes["/openapi.json"] = as_json(document({"/thing": {method: operation}}))
    upstream.routes["/thing"] = strict
    egress = Egress(connect_seconds=60.0)
    kind = OpenApi(egress, call_seconds=60.0)
    try:
        loaded = await kind.load(
            SourceRequest(location=upstream.url + "/openapi.json", consented=Consent(private_network=True))
        )
        source = Source("src", "ws", "openapi", loaded.namespace, loaded.name, loaded.config)
        answer: str = json.loads(await kind.invoke(source, loaded.tools[0], given, ""))["body"]
        return answer
    finally:
        await egress.close()


def typed_body(media_type: str, schema: Any, **parts: Any) -> dict[str, Any]:
    return {"content": {media_type: {"schema": schema}}, **parts}


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "get", "options"])
async def test_a_request_without_a_body_has_no_content_type(upstream: Upstream, method: str) -> None:
    assert await send(upstream, method, None, {}) == ""


@pytest.mark.parametrize("method", ["post", "delete"])
@pytest.mark.parametrize(
    "body",
    [
        json_body(FIELDS),
        json_body({"type": "array", "items": {}}),
        json_body({}),
        typed_body("application/x-www-form-urlencoded", FIELDS),
        typed_body("multipart/form-data", FIELDS),
        typed_body("text/plain", {"type": "string"}),
        typed_body("application/octet-stream", {"type": "string", "format": "binary"}),
    ],
)
async def test_an_optional_body_that_is_not_given_leaves_nothing_behind(
    upstream: Upstream, method: str, body: dict[str, Any]
) -> None:
    assert await send(upstream, method, body, {}) == ""


@pytest.mark.parametrize("media_type", ["application/x-www-form-urlencoded", "multipart/form-data"])
async def test_an_optional_form_of_nothing_is_no_body(upstream: Upstream, media_type: str) -> None:
    assert await send(upstream, "post", typed_body(media_type, FIELDS), {"a": None}) == ""


async def test_a_required_form_of_nothing_has_no_type(upstream: Upstream) -> None:
    form = typed_body("application/x-www-form-urlencoded", FIELDS, required=True)
    assert await send(upstream, "post", form, {}) == ""
    assert await send(upstream, "post", form, {"a": None}) == ""


async def test_a_body_that_is_given_has_its_type(upstream: Upstream) -> None:
    assert json.loads(await send(upstream, "delete", json_body(FIELDS), {"a": "x"})) == {"a": "x"}
    assert json.loads(await send(upstream, "post", json_body(FIELDS), {"body": {}})) == {}
    assert await send(upstream, "post", typed_body("application/x-www-form-urlencoded", FIELDS), {"a": "x"}) == "a=x"


@pytest.mark.parametrize(("method", "status"), [("post", 307), ("post", 308), ("put", 303), ("get", 302)])
async def test_a_redirect_adds_no_content_type(upstream: Upstream, method: str, status: int) -> None:
    upstream.routes["/thing/"] = strict
    body = json_body(FIELDS) if method in ("put", "get") else None

    def move(got: Got, handler: Handler) -> Reply:
        return Reply(status, headers={"Location": "/thing/"})

    operation = {**OK, "requestBody": body} if body else OK
    upstream.routes["/openapi.json"] = as_json(document({"/thing": {method: operation}}))
    upstream.routes["/thing"] = move
    egress = Egress(connect_seconds=60.0)
    kind = OpenApi(egress, call_seconds=60.0)
    loaded = await kind.load(
        SourceRequest(location=upstream.url + "/openapi.json", consented=Consent(private_network=True))
    )
    source = Source("src", "ws", "openapi", loaded.namespace, loaded.name, loaded.config)
    assert json.loads(await kind.invoke(source, loaded.tools[0], {"a": "x"} if body else {}, "")) == {"body": ""}
    assert upstream.requests[-1].target == "/thing/"
    await egress.close()
