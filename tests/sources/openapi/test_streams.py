"""Answers that are streams: read within bounds, given as arrays."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from executor.model.source import Source
from executor.sources.egress import Egress
from executor.sources.kind import SourceRequest
from executor.sources.openapi.kind import OpenApi
from tests.sources.openapi.documents import answers, document
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json

EVENTS = {"200": {"description": "", "content": {"text/event-stream": {}}}}


@pytest.fixture
async def kind(egress: Egress) -> AsyncIterator[OpenApi]:
    yield OpenApi(egress, stream_seconds=0.3, answer_bytes=100_000)


async def answer_of(kind: OpenApi, upstream: Upstream, reply: Any, responses: Any = EVENTS) -> Any:
    upstream.routes["/openapi.json"] = as_json(document({"/s": {"get": {"responses": responses}}}))
    upstream.routes["/s"] = reply
    loaded = await kind.load(SourceRequest(location=upstream.url + "/openapi.json", allow_private=True))
    return json.loads(await kind.invoke(Source("s", "w", "openapi", "n", "n", loaded.config), loaded.tools[0], {}, ""))


def stream(text: str, media_type: str = "text/event-stream") -> Reply:
    return Reply(200, text.encode(), {"Content-Type": f"{media_type}; charset=utf-8"})


async def test_events_become_a_list(kind: OpenApi, upstream: Upstream) -> None:
    text = ': hello\n\nid: 7\nevent: add\ndata: {"a":\ndata: 1}\n\ndata: plain\r\n\r\nretry: 5\n\ndata:[DONE]'
    assert await answer_of(kind, upstream, stream(text)) == [
        {"event": "add", "data": {"a": 1}, "id": "7"},
        {"event": "message", "data": "plain"},
        {"event": "message", "data": "[DONE]"},
    ]


@pytest.mark.parametrize("media_type", ["application/x-ndjson", "application/jsonl", "application/json-seq"])
async def test_lines_become_a_list(kind: OpenApi, upstream: Upstream, media_type: str) -> None:
    reply = stream('{"a":1}\n\n\x1e[2]\r\nnot json\n', media_type)
    assert await answer_of(kind, upstream, reply) == [{"a": 1}, [2], "not json"]


async def test_a_stream_comes_through_where_the_document_promises_json(kind: OpenApi, upstream: Upstream) -> None:
    assert await answer_of(kind, upstream, stream("data: 1\n\n"), answers({"type": "object"})) == [
        {"event": "message", "data": 1}
    ]


async def test_a_stream_without_end_is_left_with_what_came(kind: OpenApi, upstream: Upstream) -> None:
    release = threading.Event()

    def endless(got: Got, handler: Handler) -> None:
        handler.wfile.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\ndata: 2\n\ndata: cut"
        )
        handler.wfile.flush()
        release.wait(10)

    found = await answer_of(kind, upstream, endless)
    release.set()
    assert [one["data"] for one in found] == [1, 2]


async def test_a_stream_that_is_too_large_is_cut_at_an_item(kind: OpenApi, upstream: Upstream) -> None:
    def flood(got: Got, handler: Handler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n")
        try:
            while True:
                handler.wfile.write(b'"0123456789"\n' * 1_000)
        except OSError:
            pass

    found = await answer_of(kind, upstream, flood)
    assert 1_000 < len(found) <= 100_000 / 13 and set(found) == {"0123456789"}


async def test_streams_have_a_type(kind: OpenApi, upstream: Upstream) -> None:
    content = {"application/x-ndjson": {"itemSchema": {"type": "integer"}}}
    upstream.routes["/openapi.json"] = as_json(
        document({"/s": {"get": {"responses": {"200": {"description": "", "content": content}}}}}, openapi="3.2.0")
    )
    loaded = await kind.load(SourceRequest(location=upstream.url + "/openapi.json", allow_private=True))
    assert loaded.tools[0].output_schema == {"type": "array", "items": {"type": "integer"}}


@pytest.mark.parametrize(
    ("media_type", "expected"),
    [
        ("application/pdf", {"contentType": "application/pdf", "base64": "cGxhaW4="}),
        ("application/octet-stream", {"contentType": "application/octet-stream", "base64": "cGxhaW4="}),
        ("application/xml", "plain"),
        ("text/csv", "plain"),
        ("image/svg+xml", "plain"),
    ],
)
async def test_what_is_binary_is_base64_whatever_its_bytes(
    kind: OpenApi, upstream: Upstream, media_type: str, expected: Any
) -> None:
    responses = {"200": {"description": "", "content": {media_type: {}}}}
    assert await answer_of(kind, upstream, stream("plain", media_type), responses) == expected
    assert media_type in upstream.requests[-1].headers["accept"]
