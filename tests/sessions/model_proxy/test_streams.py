"""Answers pass byte for byte, at the pace of the reader, with the tokens of each wire format counted."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from executor.model.sessions.model_usage import ModelProvider as ProviderName
from executor.model.sessions.model_usage import Usage
from executor.sessions.model_proxy import listener
from tests.sessions.model_proxy.conftest import REAL_KEY, Place, agent, message
from tests.support.conditions import until

CHAT = {"model": "gpt-5", "messages": [], "max_tokens": 30}
RESPONSES = {"model": "gpt-5", "input": "x", "max_output_tokens": 30}
GENERATE = {"contents": [{"parts": [{"text": "x"}]}], "generationConfig": {"maxOutputTokens": 30}}
GEMINI = "/v1beta/models/gemini-2.5-pro"
FORMATS: dict[str, tuple[ProviderName, str, dict[str, Any], Usage]] = {
    "messages": ("anthropic", "/v1/messages", message(), Usage(11, 7, 5, 3, 20)),
    "responses": ("openai", "/v1/responses", RESPONSES | {"stream": True}, Usage(11, 7, output=20, thoughts=9)),
    "chat": (
        *("openai", "/v1/chat/completions"),
        CHAT | {"stream": True, "stream_options": {"include_usage": True}},
        Usage(11, 7, output=20, thoughts=9),
    ),
    "generate": (
        *("gemini", f"{GEMINI}:streamGenerateContent?alt=sse"),
        GENERATE,
        Usage(11, 7, output=20, thoughts=9),
    ),
    "messages, whole": ("anthropic", "/v1/messages", message(stream=False), Usage(11, 7, 5, 3, 20)),
    "responses, whole": ("openai", "/v1/responses", RESPONSES, Usage(11, 7, output=20, thoughts=9)),
    "chat, whole": ("openai", "/v1/chat/completions", CHAT, Usage(11, 7, output=20, thoughts=9)),
    "generate, whole": ("gemini", f"{GEMINI}:generateContent", GENERATE, Usage(11, 7, output=20, thoughts=9)),
}


@pytest.mark.parametrize("form", FORMATS)
async def test_an_answer_passes_unchanged_and_its_tokens_are_counted(place: Place, form: str) -> None:
    name, path, body, usage = FORMATS[form]
    place.provider.usage = usage
    place.provider.text = "some words, \u00fcml\u00e4ute and \\u0022escapes\\u0022 " * 50
    key = await place.open(name)
    async with agent(key) as client:
        response = await client.post(path, json=body, headers={"x-goog-api-key": key.api_key})
        received = await response.read()
        assert response.status == 200 and "Set-Cookie" not in response.headers
    if place.provider.sent:
        assert received == place.provider.sent[0]
    else:
        assert json.loads(received)["usage" if name != "gemini" else "usageMetadata"]
    spent = await place.spending_when_idle()
    assert spent.usage == usage
    [request] = await place.proxy.requests(place.workspace_id, "ses_1")
    assert (request.state, request.status, request.cost) == ("settled", 200, spent.cost) and spent.cost > 0
    [event] = await place.events("model.requested")
    assert event["tokens"] == usage.prompt + usage.output + usage.thoughts


async def test_usage_that_a_chat_client_has_not_asked_for_is_requested_and_kept_back(place: Place) -> None:
    place.provider.usage = Usage(11, 7, output=20)
    key = await place.open("openai")
    async with agent(key) as client:
        body = CHAT | {"stream": True}
        response = await client.post(
            "/v1/chat/completions", json=body, headers={"Authorization": f"bearer {key.api_key}"}
        )
        received = await response.read()
    assert json.loads(place.provider.seen[0].body)["stream_options"] == {"include_usage": True}
    assert b'"usage"' not in received and received.endswith(b"data: [DONE]\n\n")
    assert (await place.spending_when_idle()).usage == Usage(11, 7, output=20)


async def test_a_stream_of_gemini_without_events_is_counted_too(place: Place) -> None:
    """Without `alt=sse`, a list of chunks."""
    place.provider.usage = Usage(11, 7, output=20, thoughts=9)
    chunks = json.dumps(place.provider.generate()).encode()
    place.provider.error = (200, {"Content-Type": "application/json"}, chunks)
    key = await place.open("gemini")
    async with agent(key) as client:
        response = await client.post(f"{GEMINI}:streamGenerateContent?key={key.api_key}", json=GENERATE)
        assert await response.read() == chunks
    assert (await place.spending_when_idle()).usage == Usage(11, 7, output=20, thoughts=9)
    assert place.provider.seen[0].target == f"{GEMINI}:streamGenerateContent", "the key is no part of the address"


async def test_what_costs_nothing_reserves_nothing(place: Place) -> None:
    key = await place.open()
    async with agent(key) as client:
        for method, path in (("POST", "/v1/messages/count_tokens"), ("GET", "/v1/models")):
            body = {"model": "claude-opus-4-5", "messages": []} if method == "POST" else None
            response = await client.request(method, path, json=body, headers={"x-api-key": key.api_key})
            assert (await response.json())["input_tokens"] == 42
    spent = await place.spending_when_idle()
    assert (spent.requests, spent.cost, spent.usage) == (2, 0, Usage())


@pytest.mark.parametrize(
    "echoed", [REAL_KEY, base64.b64encode(REAL_KEY.encode()).decode(), REAL_KEY.encode().hex(), "%73" + REAL_KEY[1:]]
)
async def test_an_echo_of_the_real_key_is_redacted_wherever_it_is_cut(place: Place, echoed: str) -> None:
    key = await place.open()
    place.provider.text = f"before {echoed} after" * 5
    async with agent(key) as client:
        response = await client.post("/v1/messages", json=message(), headers={"x-api-key": key.api_key})
        received = (await response.read()).decode()
        place.provider.error = (401, {"request-id": REAL_KEY}, f'{{"error":"bad key {echoed}"}}'.encode())
        failed = await client.post("/v1/messages", json=message(), headers={"x-api-key": key.api_key})
        text = await failed.text()
    if not echoed.startswith("%"):  # of a stream only whole writings are known; of an error, mixed ones too
        assert echoed not in received
        assert "".join(one["delta"]["text"] for one in deltas(received)).count("after") == 5
    assert echoed not in text and "[redacted]" in text
    assert failed.status == 401 and REAL_KEY not in failed.headers["request-id"]


def deltas(stream: str) -> list[dict[str, Any]]:
    events = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]
    return [one for one in events if one["type"] == "content_block_delta"]


async def test_a_redirect_is_not_followed_and_the_key_goes_nowhere_else(place: Place) -> None:
    place.provider.error = (307, {"Location": "http://127.0.0.1:1/v1/messages"}, b"")
    key = await place.open()
    async with agent(key) as client:
        response = await client.post("/v1/messages", json=message(), headers={"x-api-key": key.api_key})
        assert response.status == 502 and "Location" not in response.headers
    assert len(place.provider.seen) == 1


async def settled_size(place: Place) -> int:
    """How much the provider has written once it writes no more."""
    seen = [-1] * 50

    def is_still() -> bool:
        seen.append(place.provider.written)
        return len(set(seen[-50:])) == 1

    await until(is_still)
    return place.provider.written


async def test_a_slow_reader_holds_up_the_provider_and_not_the_memory(place: Place) -> None:
    place.provider.text = "word " * 4_000_000
    place.provider.usual_pieces = False
    key = await place.open()
    async with agent(key) as client:
        response = await client.post("/v1/messages", json=message(), headers={"x-api-key": key.api_key})
        await response.content.read(100)
        assert await settled_size(place) < len(place.provider.sent[0]) // 2, "no one reads, and still it is written"
        received = 100 + len(await response.read())
    assert received == len(place.provider.sent[0]) > 20_000_000
    assert (await place.spending_when_idle()).usage == place.provider.usage


async def test_a_reader_that_stops_reading_is_left_and_the_answer_still_counted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "WRITE_SECONDS", 0.2)
    place.provider.text = "word " * 1_000_000
    place.provider.usual_pieces = False
    key = await place.open()
    _, writer = await asyncio.open_unix_connection(str(key.socket), limit=1024)
    body = json.dumps(message()).encode()
    head = f"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nx-api-key: {key.api_key}\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await until(lambda: place.provider.sent)
    assert (await place.spending_when_idle()).usage == place.provider.usage
    writer.transport.abort()


async def test_an_agent_that_ends_with_its_session_is_still_billed_what_it_used(place: Place) -> None:
    place.provider.gate.clear()
    key = await place.open()
    async with agent(key) as client:
        response = await client.post("/v1/messages", json=message(), headers={"x-api-key": key.api_key})
        assert response.status == 200
        await place.proxy.close_session("ses_1")
        place.provider.gate.set()
        spent = await place.spending_when_idle()
    assert spent.usage == place.provider.usage
    assert (await place.proxy.requests(place.workspace_id, "ses_1"))[0].state == "settled"
