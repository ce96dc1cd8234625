"""Answers as services really send them: undescribed, in lines, refused with reasons; and files by their names."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from executor.errors import ToolError
from executor.model.source import Loaded, Source
from executor.network.client import Egress
from executor.sources.openapi.kind import OpenApi, build_catalog
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.openapi.documents import LOCATION, document, load, one_tool
from tests.sources.upstream import Reply, Upstream, as_json

Call = Callable[..., Awaitable[Any]]


def swagger(produces: list[str] | None, **response: Any) -> Loaded:
    operation = {"responses": {"200": {"description": "", **response}}}
    root = {"swagger": "2.0", "info": {"title": "t", "version": "1"}, "paths": {"/thing": {"get": operation}}}
    if produces is not None:
        root["produces"] = produces
    return build_catalog(SourceRequest(location=LOCATION), json.dumps(root).encode(), LOCATION)


@pytest.fixture
async def call(upstream: Upstream) -> AsyncIterator[Call]:
    """Sends one call of an operation to the service."""
    egress = Egress(connect_seconds=60.0)
    kind = OpenApi(egress, call_seconds=60.0)

    async def send(operation: dict[str, Any], given: dict[str, Any] | None = None, method: str = "get") -> Any:
        upstream.routes["/openapi.json"] = as_json(document({"/thing": {method: operation}}))
        loaded = await kind.load(
            SourceRequest(location=upstream.url + "/openapi.json", consented=Consent(private_network=True))
        )
        source = Source("src", "ws", "openapi", loaded.namespace, loaded.name, loaded.config)
        return json.loads(await kind.invoke(source, loaded.tools[0], given or {}, ""))

    yield send
    await egress.close()


@pytest.mark.parametrize("status", ["200", "201", "202", "2XX", "default"])
def test_an_answer_that_is_not_described_may_be_anything(status: str) -> None:
    assert one_tool("/thing", {"responses": {status: {"description": "fine"}}}, "post").output_schema is None


@pytest.mark.parametrize("status", ["204", "205"])
def test_an_answer_that_never_has_a_body_is_null(status: str) -> None:
    tool = one_tool("/thing", {"responses": {status: {"description": "fine"}}}, "delete")
    assert tool.output_schema == {"type": "null"}


def test_an_answer_to_head_is_null() -> None:
    response = {"200": {"description": "", "content": {"application/json": {"schema": {"type": "object"}}}}}
    assert one_tool("/thing", {"responses": response}, "head").output_schema == {"type": "null"}


def test_a_described_answer_beside_one_without_content_keeps_its_type() -> None:
    described = {"description": "", "content": {"application/json": {"schema": {"type": "string"}}}}
    tool = one_tool("/thing", {"responses": {"200": described, "202": {"description": "later"}}})
    assert tool.output_schema == {"anyOf": [{"type": "string"}, {"type": "null"}]}


@pytest.mark.parametrize("reply", [as_json({"a": 1}), Reply(200, b"text", {"Content-Type": "text/plain"}), Reply(200)])
async def test_whatever_comes_undescribed_is_given_to_the_code(call: Call, upstream: Upstream, reply: Reply) -> None:
    upstream.routes["/thing"] = reply
    expected = {b"": None, b"text": "text"}.get(reply.body, {"a": 1})
    assert await call({"responses": {"200": {"description": ""}}}) == expected


@pytest.mark.parametrize(
    ("produces", "accept"),
    [
        (["image/png"], "image/png, */*;q=0.1"),
        (["application/pdf", "image/svg+xml"], "application/pdf, image/svg+xml, */*;q=0.1"),
        (["application/hal+json", "text/csv"], "application/hal+json, */*;q=0.1"),
        (["application/json"], None),
        (None, None),
    ],
)
def test_swagger_asks_for_what_it_produces_also_without_a_schema(
    produces: list[str] | None, accept: str | None
) -> None:
    (tool,) = swagger(produces).tools
    assert tool.binding.get("accept") == accept
    assert tool.output_schema is None
    assert tool.binding["answers"]["200"]["form"] == "empty"


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "array", "items": {}}])
@pytest.mark.parametrize("body", [b'{"id": 0}\n{"id": 1}\n', b'\xef\xbb\xbf{"id": 0}\r\n\r\n{"id": 1}'])
async def test_lines_of_json_called_json_are_a_list(call: Call, upstream: Upstream, schema: Any, body: bytes) -> None:
    upstream.routes["/thing"] = Reply(200, body, {"Content-Type": "application/json"})
    content = {"application/json": {"schema": schema}}
    assert await call({"responses": {"200": {"description": "", "content": content}}}) == [{"id": 0}, {"id": 1}]


@pytest.mark.parametrize("body", [b'{"id": 0}\n{"id":', b'{\n"id": 0', b"[1,\n2", b"1\n" * 100_001])
async def test_what_is_neither_json_nor_lines_of_it_is_refused(call: Call, upstream: Upstream, body: bytes) -> None:
    upstream.routes["/thing"] = Reply(200, body, {"Content-Type": "application/json"})
    with pytest.raises(ToolError, match="can't be parsed as JSON"):
        await call({"responses": {"200": {"description": ""}}})


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"detail": [{"loc": ["body", "name"], "msg": "is required", "input": "secret"}]}, "body.name: is required"),
        (
            {"title": "Not valid.", "errors": [{"detail": "must be positive", "pointer": "#/age"}]},
            "Not valid. (age: must be positive)",
        ),
        ({"title": "Bad", "errors": {"Name": ["is empty"], "Age": ["is low"]}}, "Bad (Name: is empty; Age: is low)"),
        ({"errors": [{"field": "email", "message": "is taken"}]}, "email: is taken"),
        ({"errors": [{"message": "no such field", "path": ["user", "x"]}]}, "user.x: no such field"),
        (
            {"status": 400, "error": "Bad Request", "message": "Validation failed", "path": "/thing",
             "errors": [{"codes": ["NotNull"], "defaultMessage": "must not be null", "field": "name",
                         "rejectedValue": "secret"}]},
            "Validation failed (name: must not be null)",
        ),
        ({"timestamp": "2026", "status": 404, "error": "Not Found", "path": "/thing"}, "Not Found"),
        ({"name": ["This is required."], "non_field_errors": ["differ"]}, "name: This is required.; differ"),
        ([{}, {"name": ["too long"]}], "1.name: too long"),
        ({"message": ["a must be a string", "b must be set"], "statusCode": 400}, "a must be a string; b must be set"),
        ({"message": "Failed", "errors": [{"field": "title", "code": "missing"}]}, "Failed (title: missing)"),
        ({"errors": [{"source": {"pointer": "/data/name"}, "detail": "too short"}]}, "data.name: too short"),
        ({"error": {"message": "Bad", "details": [{"@type": "t", "fieldViolations": [
            {"field": "a", "description": "no"}]}]}}, "Bad (a: no)"),
        ({"errors": [f"reason {number}" for number in range(9)]}, "reason 0; reason 1; reason 2; and 6 more"),
    ],
)  # fmt: skip
async def test_the_first_reasons_of_a_refusal_are_in_its_message(
    call: Call, upstream: Upstream, body: Any, said: str
) -> None:
    upstream.routes["/thing"] = as_json(body, 422)
    with pytest.raises(ToolError) as caught:
        await call({"responses": {"200": {"description": ""}}})
    assert caught.value.message.partition(" answered 422: ")[2] == said
    assert caught.value.tool_details == body


@pytest.mark.parametrize(
    "body", [{"a": 1}, "plain", [], {"errors": []}, {"detail": []}, {"errors": None, "x": [[[[[[]]]]]]}]
)
async def test_a_refusal_without_reasons_is_reported_by_its_status(call: Call, upstream: Upstream, body: Any) -> None:
    upstream.routes["/thing"] = as_json(body, 422)
    with pytest.raises(ToolError, match=r"answered 422$"):
        await call({"responses": {"200": {"description": ""}}})


async def test_reasons_are_short_and_cut_between_words(call: Call, upstream: Upstream) -> None:
    secret = "s" * 90
    upstream.routes["/thing"] = as_json({"errors": {"f" * 500: [f"the token was {'x ' * 15}{secret}"]}}, 422)
    with pytest.raises(ToolError) as caught:
        await call({"responses": {"200": {"description": ""}}})
    assert "ss" not in caught.value.message
    assert len(caught.value.message) < 300


FILE = {"type": "string", "format": "binary"}


@pytest.mark.parametrize(
    ("filename", "given", "allowed", "sent"),
    [
        ("a.txt", None, None, "text/plain"),
        ("scan.PDF", None, None, "application/pdf"),
        ("notes.md", None, None, "text/markdown"),
        ("all.tar.gz", None, None, "application/gzip"),
        ("a.unknown", None, None, "application/octet-stream"),
        ("a.png", "image/webp", None, "image/webp"),
        ("a.jpeg", None, "image/png, image/jpeg", "image/jpeg"),
        ("a.jpeg", None, "image/*", "image/jpeg"),
        ("a.txt", None, "image/png, image/jpeg", "image/png"),
        (None, None, None, "application/octet-stream"),
    ],
)
async def test_a_file_without_a_type_has_that_of_its_name(
    call: Call, upstream: Upstream, filename: str | None, given: str | None, allowed: str | None, sent: str
) -> None:
    media: dict[str, Any] = {"schema": {"type": "object", "properties": {"file": FILE}}}
    if allowed:
        media["encoding"] = {"file": {"contentType": allowed}}
    upstream.routes["/thing"] = as_json(1)
    parts = {"filename": filename, "contentType": given}
    file = {"base64": "aGk=", **{name: part for name, part in parts.items() if part}}
    operation = {"requestBody": {"content": {"multipart/form-data": media}}, "responses": {"200": {"description": ""}}}
    await call(operation, {"file": file}, "post")
    assert f"\r\nContent-Type: {sent}\r\n\r\nhi".encode() in upstream.requests[-1].body


ITEM = {"type": "object", "properties": {"id": {"type": "integer"}}}
SPRING = {"type": "object", "properties": {"content": {"type": "array", "items": ITEM}, "last": {"type": "boolean"}}}


def test_an_answer_of_any_type_has_the_shape_that_is_described() -> None:
    page = {"name": "page", "in": "query", "schema": {"type": "integer"}}
    responses = {"200": {"description": "OK", "content": {"*/*": {"schema": SPRING}}}}
    loaded = load({"/things": {"get": {"operationId": "list", "parameters": [page], "responses": responses}}})
    assert [tool.path.rpartition(".")[2] for tool in loaded.tools] == ["list", "all"]
    assert loaded.tools[0].output_schema == SPRING


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": "string", "format": "binary"}, {}])
def test_an_answer_of_any_type_that_may_be_text_or_a_file_may_be_anything(schema: Any) -> None:
    responses = {"200": {"description": "OK", "content": {"*/*": {"schema": schema}}}}
    assert one_tool("/thing", {"responses": responses}).output_schema is None


async def test_another_answer_than_json_is_no_breach_where_anything_may_come(call: Call, upstream: Upstream) -> None:
    upstream.routes["/thing"] = Reply(200, b"text", {"Content-Type": "text/plain"})
    responses = {"200": {"description": "OK", "content": {"*/*": {"schema": ITEM}}}}
    assert await call({"responses": responses}) == "text"
