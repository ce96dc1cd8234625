"""Answers that are streams: read within bounds, given as their items and whether those are all."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from executor.model.source import Source
from executor.network.client import Egress
from executor.sources.openapi.calls import streams
from executor.sources.openapi.kind import OpenApi
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.openapi.documents import answers, document
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json

EVENTS = {"200": {"description": "", "content": {"text/event-stream": {}}}}


@pytest.fixture
async def kind(egress: Egress) -> AsyncIterator[OpenApi]:
    yield OpenApi(egress, stream_seconds=60.0, answer_bytes=100_000)


@pytest.fixture
async def hasty(egress: Egress) -> AsyncIterator[OpenApi]:
    """Reads a stream for a moment only."""
    yield OpenApi(egress, stream_seconds=10.0, answer_bytes=100_000)


async def answer_of(kind: OpenApi, upstream: Upstream, reply: Any, responses: Any = EVENTS) -> Any:
    upstream.routes["/openapi.json"] = as_json(document({"/s": {"get": {"responses": responses}}}))
    upstream.routes["/s"] = reply
    loaded = await kind.load(
        SourceRequest(location=upstream.url + "/openapi.json", consented=Consent(private_network=True))
    )
    return json.loads(await kind.invoke(Source("s", "w", "openapi", "n", "n", loaded.config), loaded.tools[0], {}, ""))


def stream(text: str, media_type: str = "text/event-stream") -> Reply:
    return Reply(200, text.encode(), {"Content-Type": f"{media_type}; charset=utf-8"})


async def test_events_become_a_list(kind: OpenApi, upstream: Upstream) -> None:
    text = ': hello\n\nid: 7\nevent: add\ndata: {"a":\ndata: 1}\n\ndata: plain\r\n\r\nretry: 5\n\ndata:[DONE]'
    assert await answer_of(kind, upstream, stream(text)) == {
        "items": [
            {"event": "add", "data": {"a": 1}, "id": "7"},
            {"event": "message", "data": "plain"},
            {"event": "message", "data": "[DONE]"},
        ],
        "complete": True,
    }


@pytest.mark.parametrize("media_type", ["application/x-ndjson", "application/jsonl", "application/json-seq"])
async def test_lines_become_a_list(kind: OpenApi, upstream: Upstream, media_type: str) -> None:
    reply = stream('{"a":1}\n\n\x1e[2]\r\nnot json\n', media_type)
    assert await answer_of(kind, upstream, reply) == {"items": [{"a": 1}, [2], "not json"], "complete": True}


async def test_a_stream_comes_through_where_the_document_promises_json(kind: OpenApi, upstream: Upstream) -> None:
    found = await answer_of(kind, upstream, stream("data: 1\n\n"), answers({"type": "object"}))
    assert found == {"items": [{"event": "message", "data": 1}], "complete": True}


@pytest.fixture
def endless() -> Iterator[Callable[[str, str], Any]]:
    """Sends a text, and then nothing for as long as the test takes."""
    release = threading.Event()

    def make(media_type: str, text: str) -> Any:
        def reply(got: Got, handler: Handler) -> None:
            handler.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\n\r\n{text}".encode())
            handler.wfile.flush()
            release.wait(120)

        return reply

    yield make
    release.set()


@pytest.mark.parametrize(
    ("media_type", "text", "items", "advice"),
    [
        (
            "text/event-stream",
            "id: 1\ndata: 1\n\nid: 2\ndata: 2\n\ndata: cut",
            [{"event": "message", "data": 1, "id": "1"}, {"event": "message", "data": 2, "id": "2"}],
            "`Last-Event-ID` set to the `id` of the last item",
        ),
        ("text/event-stream", "data: 1\n\ndata: cut", [{"event": "message", "data": 1}], "arguments that say where"),
        ("application/x-ndjson", "1\n2\n3", [1, 2], "arguments that say where"),
        ("application/stream+json", "1\n2\n3", [1, 2], "arguments that say where"),
    ],
)
async def test_a_stream_without_end_gives_what_came_says_that_it_was_cut_and_how_to_go_on(
    hasty: OpenApi, upstream: Upstream, endless: Any, media_type: str, text: str, items: Any, advice: str
) -> None:
    found = await answer_of(hasty, upstream, endless(media_type, text))
    assert (found["items"], found["complete"]) == (items, False)
    assert "limit" in found["more"] and advice in found["more"]


async def test_a_stream_of_events_can_be_gone_on_with(kind: OpenApi, upstream: Upstream) -> None:
    upstream.routes["/openapi.json"] = as_json(document({"/s": {"get": {"responses": EVENTS}}}))
    upstream.routes["/s"] = stream("data: 1\n\n")
    loaded = await kind.load(
        SourceRequest(location=upstream.url + "/openapi.json", consented=Consent(private_network=True))
    )
    (tool,) = loaded.tools
    assert "Last-Event-ID" in tool.input_schema["properties"] and "required" not in tool.input_schema
    await kind.invoke(Source("s", "w", "openapi", "n", "n", loaded.config), tool, {"Last-Event-ID": "7"}, "")
    assert upstream.requests[-1].headers["last-event-id"] == "7"


async def test_too_many_items_are_a_cut_too(kind: OpenApi, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_ITEMS", 3)
    found = await answer_of(kind, upstream, stream("1\n2\n3\n4\n", "application/x-ndjson"))
    assert (found["items"], found["complete"]) == ([1, 2, 3], False)
    found = await answer_of(kind, upstream, stream("1\n2\n3\n", "application/x-ndjson"))
    assert found == {"items": [1, 2, 3], "complete": True}


async def test_a_stream_that_is_too_large_is_cut_at_an_item(kind: OpenApi, upstream: Upstream) -> None:
    def flood(got: Got, handler: Handler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n")
        try:
            while True:
                handler.wfile.write(b'"0123456789"\n' * 1_000)
        except OSError:
            pass

    found = await answer_of(kind, upstream, flood)
    assert 1_000 < len(found["items"]) <= 100_000 / 13 and set(found["items"]) == {"0123456789"}
    assert not found["complete"] and found["more"]


async def test_streams_have_a_type(kind: OpenApi, upstream: Upstream) -> None:
    content = {"application/x-ndjson": {"itemSchema": {"type": "integer"}}}
    upstream.routes["/openapi.json"] = as_json(
        document({"/s": {"get": {"responses": {"200": {"description": "", "content": content}}}}}, openapi="3.2.0")
    )
    loaded = await kind.load(
        SourceRequest(location=upstream.url + "/openapi.json", consented=Consent(private_network=True))
    )
    shown = loaded.tools[0].output_schema
    assert shown is not None and shown["properties"]["items"] == {"type": "array", "items": {"type": "integer"}}
    assert shown["required"] == ["items", "complete"]


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
