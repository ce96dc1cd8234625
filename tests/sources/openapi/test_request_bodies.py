"""Bodies of every form, as they arrive at a real server."""

from __future__ import annotations

import base64
import email
import email.policy
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qsl

import pytest

from executor.errors import ToolError
from executor.model.source import Source
from executor.network.client import Egress
from executor.schemas.validation import compile_schema, problems
from executor.sources.openapi.kind import OpenApi
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.catalog.definitions import with_definitions
from tests.sources.openapi.documents import document
from tests.sources.upstream import Got, Upstream, as_json


@pytest.fixture
async def kind(egress: Egress) -> AsyncIterator[OpenApi]:
    yield OpenApi(egress)


async def send_body(
    kind: OpenApi, upstream: Upstream, content: dict[str, Any], arguments: dict[str, Any], **parts: Any
) -> Got:
    operation = {"requestBody": {"content": content, "required": True}}
    upstream.routes["/openapi.json"] = as_json(document({"/thing": {"post": operation}}, **parts))
    upstream.routes["/thing"] = as_json({})
    loaded = await kind.load(
        SourceRequest(location=upstream.url + "/openapi.json", consented=Consent(private_network=True))
    )
    (tool,) = loaded.tools
    validator = compile_schema(with_definitions(kind.strict_schema(tool), dict(loaded.definitions)))
    assert problems(validator, kind.arrange(tool, arguments), arguments, tool) == []
    await kind.invoke(Source("s", "w", "openapi", "n", "n", loaded.config), tool, arguments, "")
    return upstream.requests[-1]


def media(schema: Any, **parts: Any) -> dict[str, Any]:
    return {"schema": schema, **parts}


FORM = "application/x-www-form-urlencoded"
STRINGS = {"type": "array", "items": {"type": "string"}}
NESTED = {"type": "object", "properties": {"a": {"type": "object"}, "l": STRINGS, "t": {"type": "string"}, "n": {}}}


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ({}, [("a", '{"b":1}'), ("l", "x"), ("l", "y"), ("t", "ü &="), ("n", "true")]),
        (
            {"a": {"style": "deepObject", "explode": True}, "l": {"style": "deepObject", "explode": True}},
            [("a[b]", "1"), ("l[]", "x"), ("l[]", "y"), ("t", "ü &="), ("n", "true")],
        ),
        (
            {"a": {"style": "form"}, "l": {"style": "spaceDelimited", "explode": False}},
            [("b", "1"), ("l", "x y"), ("t", "ü &="), ("n", "true")],
        ),
        (
            {"l": {"contentType": "application/json"}},
            [("a", '{"b":1}'), ("l", '["x","y"]'), ("t", "ü &="), ("n", "true")],
        ),
    ],
)
async def test_forms_follow_their_encoding(kind: OpenApi, upstream: Upstream, encoding: Any, expected: Any) -> None:
    arguments = {"a": {"b": 1}, "l": ["x", "y"], "t": "ü &=", "n": True}
    got = await send_body(kind, upstream, {FORM: media(NESTED, encoding=encoding)}, arguments)
    assert parse_qsl(got.body.decode()) == expected
    assert got.headers["content-type"] == FORM


def parts_of(got: Got) -> list[tuple[str, str | None, str, bytes]]:
    head = f"Content-Type: {got.headers['content-type']}\r\n\r\n".encode()
    message = email.message_from_bytes(head + got.body, policy=email.policy.HTTP)
    return [
        (
            str(part.get_param("name", header="content-disposition")),
            part.get_filename(),
            str(part["content-type"] or ""),
            part.get_payload(decode=True),  # type: ignore[misc]
        )
        for part in message.iter_parts()  # type: ignore[attr-defined]
    ]


UPLOAD = {
    "type": "object",
    "required": ["file", "title"],
    "properties": {
        "file": {"type": "string", "format": "binary"},
        "more": {"type": "array", "items": {"type": "string", "format": "binary"}},
        "title": {"type": "string"},
        "meta": {"type": "object"},
        "tags": STRINGS,
    },
}
BINARY = bytes(range(256))


async def test_multipart_carries_files_and_fields(kind: OpenApi, upstream: Upstream) -> None:
    arguments = {
        "file": {"base64": base64.b64encode(BINARY).decode(), "filename": "x.png", "contentType": "image/png"},
        "more": ["just text", {"base64": "AA=="}],
        "title": "grüß",
        "meta": {"a": [1]},
        "tags": ["x", "y"],
    }
    got = await send_body(kind, upstream, {"multipart/form-data": media(UPLOAD)}, arguments)
    assert parts_of(got) == [
        ("file", "x.png", "image/png", BINARY),
        ("more", "more", "application/octet-stream", b"just text"),
        ("more", "more", "application/octet-stream", b"\x00"),
        ("title", None, "", "grüß".encode()),
        ("meta", None, "application/json", b'{"a":[1]}'),
        ("tags", None, "", b"x"),
        ("tags", None, "", b"y"),
    ]


async def test_files_are_recognised_however_they_are_declared(kind: OpenApi, upstream: Upstream) -> None:
    schema = {
        "allOf": [{"$ref": "#/components/schemas/Upload"}],
        "properties": {"b": {"contentMediaType": "image/png"}, "c": {}, "d": {"type": "string", "format": "byte"}},
    }
    content = {"multipart/form-data": media(schema, encoding={"c": {"contentType": "image/jpeg, image/gif"}})}
    upload = {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/F"}}}
    parts = {"components": {"schemas": {"Upload": upload, "F": {"type": "string", "format": "binary"}}}}
    file = {"base64": "AA=="}
    got = await send_body(kind, upstream, content, {"a": file, "b": file, "c": file, "d": "AA=="}, **parts)
    found = {name: (type, data) for name, _, type, data in parts_of(got)}
    assert found == {
        "a": ("application/octet-stream", b"\0"),
        "b": ("application/octet-stream", b"\0"),
        "c": ("image/jpeg", b"\0"),
        "d": ("", b"AA=="),
    }


async def test_a_name_can_not_break_out_of_its_part(kind: OpenApi, upstream: Upstream) -> None:
    file = {"base64": "AA==", "filename": 'a"\r\nX-Evil: 1\r\n\r\n'}
    got = await send_body(kind, upstream, {"multipart/form-data": media(UPLOAD)}, {"file": file, "title": "t"})
    assert b"X-Evil: 1" in got.body and b"\nX-Evil" not in got.body
    with pytest.raises(ToolError):
        bad = {"base64": "AA==", "contentType": "text/plain\r\nX: y"}
        await send_body(kind, upstream, {"multipart/form-data": media(UPLOAD)}, {"file": bad, "title": "t"})


async def test_base64_that_is_none_is_refused(kind: OpenApi, upstream: Upstream) -> None:
    with pytest.raises(ToolError) as caught:
        await send_body(kind, upstream, {"application/octet-stream": {}}, {"body": {"base64": "!!"}})
    assert caught.value.tool_code == "invalid_arguments"
    assert caught.value.tool_details["problems"][0]["at"] == "/body/base64"


@pytest.mark.parametrize(
    ("media_type", "body", "sent", "type"),
    [
        ("application/octet-stream", {"base64": "/wA="}, b"\xff\x00", "application/octet-stream"),
        ("application/octet-stream", "text", b"text", "application/octet-stream"),
        ("image/*", {"base64": "/wA=", "contentType": "image/gif"}, b"\xff\x00", "image/gif"),
        ("application/pdf", {"base64": "/wA="}, b"\xff\x00", "application/pdf"),
        ("text/plain", "hello", b"hello", "text/plain"),
        ("text/plain", "grüß", "grüß".encode(), "text/plain; charset=utf-8"),
        ("application/xml", "<a/>", b"<a/>", "application/xml"),
        ("application/atom+xml", "<a/>", b"<a/>", "application/atom+xml"),
        ("application/x-ndjson", [{"a": 1}, 2], b'{"a":1}\n2\n', "application/x-ndjson"),
        ("application/merge-patch+json", {"a": None}, b'{"a":null}', "application/merge-patch+json"),
        ("application/json-patch+json", [{"op": "test"}], b'[{"op":"test"}]', "application/json-patch+json"),
        ("*/*", {"a": 1}, b'{"a":1}', "application/json"),
    ],
)
async def test_other_bodies_arrive_as_they_are(
    kind: OpenApi, upstream: Upstream, media_type: str, body: Any, sent: bytes, type: str
) -> None:
    got = await send_body(kind, upstream, {media_type: {}}, {"body": body})
    assert (got.body, got.headers["content-type"]) == (sent, type)


async def test_a_form_that_is_text_is_sent_as_it_is(kind: OpenApi, upstream: Upstream) -> None:
    got = await send_body(kind, upstream, {FORM: media({"type": "string"})}, {"body": "a=1&b=2"})
    assert (got.body, got.headers["content-type"]) == (b"a=1&b=2", FORM)


async def test_any_media_type_with_a_binary_schema_takes_a_file(kind: OpenApi, upstream: Upstream) -> None:
    binary = {"type": "string", "format": "binary"}
    got = await send_body(kind, upstream, {"*/*": media(binary)}, {"body": {"base64": "/w=="}})
    assert (got.body, got.headers["content-type"]) == (b"\xff", "application/octet-stream")


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["application/xml", "application/json"], "application/json"),
        (["multipart/form-data", FORM, "application/json; charset=utf-8"], "application/json; charset=utf-8"),
        (["multipart/form-data", FORM], FORM),
        (["application/json-patch+json", "application/merge-patch+json"], "application/merge-patch+json"),
        (["*/*", "multipart/form-data"], "multipart/form-data"),
        (["application/octet-stream", "text/plain"], "text/plain"),
    ],
)
async def test_of_several_media_types_the_plainest_is_sent(
    kind: OpenApi, upstream: Upstream, offered: list[str], chosen: str
) -> None:
    body: Any = "x" if "text/" in chosen else {"a": "1"}
    got = await send_body(kind, upstream, dict.fromkeys(offered, media({})), {"body": body})
    assert got.headers["content-type"].partition("; boundary")[0] == chosen
    if chosen.startswith("application/json"):
        assert json.loads(got.body) == {"a": "1"}
