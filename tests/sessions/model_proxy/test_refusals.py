"""The reverse of stealing a key: an agent that uses the proxy for what it is not meant for. Nothing is forwarded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from executor.model.sessions.model_usage import ModelProvider as ProviderName
from executor.sessions.model_proxy.access import Terms, VirtualKey
from executor.sessions.model_proxy.admission import Allowance
from tests.sessions.model_proxy.conftest import MODEL, REAL_KEY, Place, agent, message, open_place, send_raw
from tests.support.model_provider import ModelProvider

BODY = json.dumps(message()).encode()
ATTACKERS = "sk-ant-attackers-own-key"


def request(line: str, *headers: str, body: bytes = BODY) -> bytes:
    head = [line, "Host: localhost", "Connection: close", "Content-Type: application/json", *headers]
    return "\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


REFUSED: dict[str, tuple[str, tuple[str, ...], int]] = {
    "no key at all": ("POST /v1/messages HTTP/1.1", (), 401),
    "the attacker's key": ("POST /v1/messages HTTP/1.1", (f"x-api-key: {ATTACKERS}",), 401),
    "the attacker's key in the address": (f"POST /v1/messages?key={ATTACKERS} HTTP/1.1", (), 401),
    "the files API": ("POST /v1/files HTTP/1.1", ("x-api-key: {key}",), 404),
    "the batch API": ("POST /v1/messages/batches HTTP/1.1", ("x-api-key: {key}",), 404),
    "another provider's endpoint": ("POST /v1/responses HTTP/1.1", ("x-api-key: {key}",), 404),
    "another method": ("DELETE /v1/messages HTTP/1.1", ("x-api-key: {key}",), 405),
    "an escaped path": ("POST /v1/%6dessages HTTP/1.1", ("x-api-key: {key}",), 404),
    "a path with dots": ("POST /v1/messages/../files HTTP/1.1", ("x-api-key: {key}",), 404),
    "a path with two slashes": ("POST //evil.example/v1/messages HTTP/1.1", ("x-api-key: {key}",), 400),
    "an unknown parameter": ("POST /v1/messages?target=x HTTP/1.1", ("x-api-key: {key}",), 400),
    "another host, absolute": ("POST http://evil.example/v1/messages HTTP/1.1", ("x-api-key: {key}",), 400),
    "this host, absolute": ("POST http://localhost/v1/messages HTTP/1.1", ("x-api-key: {key}",), 400),
    "a tunnel": ("CONNECT evil.example:443 HTTP/1.1", ("x-api-key: {key}",), 400),
    "a compressed body": ("POST /v1/messages HTTP/1.1", ("x-api-key: {key}", "Content-Encoding: gzip"), 400),
}


@pytest.mark.parametrize("what", REFUSED)
async def test_nothing_is_forwarded_with(place: Place, what: str) -> None:
    line, headers, status = REFUSED[what]
    key = await place.open()
    answer = await send_raw(key, request(line, *(one.format(key=key.api_key) for one in headers)))
    assert status_of(answer) == status, answer
    assert place.provider.seen == []
    assert len(await place.events("model.refused")) == 1


async def test_nothing_is_forwarded_with_another_host(place: Place) -> None:
    key = await place.open()
    line = (
        f"POST /v1/messages HTTP/1.1\r\nHost: evil.example\r\nx-api-key: {key.api_key}\r\nContent-Length: 2\r\n\r\n{{}}"
    )
    assert status_of(await send_raw(key, line.encode())) == 400
    assert place.provider.seen == []


async def test_a_websocket_is_refused_at_once_so_that_agents_fall_back(place: Place) -> None:
    key = await place.open("openai")
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: YWJj")
    answer = await send_raw(
        key, request("GET /v1/responses HTTP/1.1", f"Authorization: Bearer {key.api_key}", *upgrade, body=b"")
    )
    assert status_of(answer) == 426
    assert place.provider.seen == []


async def test_other_credentials_and_organization_headers_are_left_behind(place: Place) -> None:
    """Beside a good key: the attacker's must not reach the provider, which might prefer it."""
    key = await place.open()
    headers = {
        "x-api-key": key.api_key,
        "Authorization": f"Bearer {ATTACKERS}",
        "x-goog-api-key": ATTACKERS,
        "Cookie": f"session={ATTACKERS}",
        "Proxy-Authorization": f"Basic {ATTACKERS}",
        "OpenAI-Organization": "org-attacker",
        "anthropic-workspace-id": "wrkspc_attacker",
        "X-Forwarded-For": "10.0.0.1",
        "anthropic-version": "2023-06-01",
        "anthropic-beta": 'one-2025-01-01,two-2025-02-02;q="x"',
    }
    async with agent(key) as client:
        response = await client.post(f"/v1/messages?beta=true&key={ATTACKERS}", json=message(), headers=headers)
        assert response.status == 200
        await response.read()
    [seen] = place.provider.seen
    assert ATTACKERS not in repr(seen) and "attacker" not in repr(seen)
    assert key.api_key not in repr(seen)
    assert (seen.header("x-api-key"), seen.header("authorization")) == (REAL_KEY, None)
    assert seen.header("anthropic-beta") == headers["anthropic-beta"]
    assert seen.header("anthropic-version") == "2023-06-01"
    assert seen.target == "/v1/messages?beta=true"
    assert {seen.header(name) for name in ("cookie", "x-forwarded-for", "proxy-authorization")} == {None}


@pytest.mark.parametrize(
    ("service", "path", "body"),
    [
        ("anthropic", "/v1/messages", message(tools=[{"type": "web_search_20250305", "name": "web_search"}])),
        ("anthropic", "/v1/messages", message(mcp_servers=[{"type": "url", "url": "https://evil.example"}])),
        ("anthropic", "/v1/messages/count_tokens", message(messages=[{"role": "user", "content": [
            {"type": "image", "source": {"type": "url", "url": "https://evil.example/?data"}}]}])),
        ("anthropic", "/v1/messages", message(messages=[{"role": "user", "content": [
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}}]}])),
        ("anthropic", "/v1/messages", message(speed="fast")),
        ("anthropic", "/v1/messages", message(Model="claude-opus-4-1")),
        ("anthropic", "/v1/messages", {"max_tokens": 5, "messages": []}),
        ("openai", "/v1/responses", {"model": "gpt-5", "input": "x", "background": True}),
        ("openai", "/v1/responses", {"model": "gpt-5", "input": "x", "previous_response_id": "resp_1"}),
        ("openai", "/v1/responses", {"model": "gpt-5", "input": [{"type": "item_reference", "id": "x"}]}),
        ("openai", "/v1/responses", {"model": "gpt-5", "input": [{"role": "user", "content": [
            {"type": "input_image", "image_url": "https://evil.example/x.png"}]}]}),
        ("openai", "/v1/chat/completions", {"model": "gpt-5", "messages": [], "web_search_options": {"a": 1}}),
        ("openai", "/v1/chat/completions", {"model": "gpt-5", "messages": [], "n": 100, "max_tokens": 1}),
        ("openai", "/v1/chat/completions", {"model": "gpt-5", "messages": [], "service_tier": "priority"}),
        ("gemini", "/v1beta/models/gemini-2.5-pro:generateContent", {"contents": [], "tools": [{"googleSearch": {}}]}),
        ("gemini", "/v1beta/models/gemini-2.5-pro:generateContent", {"cachedContent": "x", "contents": []}),
        ("gemini", "/v1beta/models/gemini-2.5-pro:generateContent", {"contents": [{"parts": [
            {"file_data": {"file_uri": "https://evil.example/"}}]}]}),
    ],
)  # fmt: skip
async def test_what_the_provider_would_fetch_or_bill_otherwise_is_refused(
    place: Place, service: ProviderName, path: str, body: dict[str, Any]
) -> None:
    key = await place.open(service)
    async with agent(key) as client:
        response = await client.post(path, json=body, headers={"Authorization": f"Bearer {key.api_key}"})
        assert response.status in (400, 403), await response.text()
        assert "Executor" in await response.text()
    assert place.provider.seen == [] and (await place.spending()).requests == 0


async def test_provider_tools_are_a_term_of_the_session(place: Place) -> None:
    key = await place.open(terms=Terms(provider_tools=True))
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    async with agent(key) as client:
        response = await client.post("/v1/messages", json=message(tools=tools), headers={"x-api-key": key.api_key})
        assert response.status == 200


async def test_a_search_that_codex_offers_with_every_request_is_taken_out(place: Place) -> None:
    key = await place.open("openai")
    own = {"type": "function", "name": "shell", "parameters": {"type": "object"}}
    body = {"model": "gpt-5", "input": "x", "stream": True, "tools": [own, {"type": "web_search"}]}
    async with agent(key) as client:
        response = await client.post("/v1/responses", json=body, headers={"Authorization": f"Bearer {key.api_key}"})
        assert response.status == 200
    assert json.loads(place.provider.seen[0].body)["tools"] == [own]


async def test_a_field_that_occurs_twice_means_to_the_provider_what_was_judged(place: Place) -> None:
    key = await place.open(terms=Terms(models=("claude-haiku-*",)))
    twice = b'{"model":"claude-haiku-4-5","max_tokens":5,"messages":[],"mod\\u0065l":"claude-opus-4-1"}'
    for body, status in ((twice, 403), (twice.replace(b"opus-4-1", b"haiku-4-5"), 200)):
        async with agent(key) as client:
            response = await client.post("/v1/messages", data=body, headers={"x-api-key": key.api_key})
            assert response.status == status
    [seen] = place.provider.seen
    assert seen.body.count(b"model") == 1


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff\xfe", b'{"model":1}', b"[" * 5000, b"null"])
async def test_a_body_that_is_no_request_is_refused(place: Place, body: bytes) -> None:
    key = await place.open()
    async with agent(key) as client:
        response = await client.post("/v1/messages", data=body, headers={"x-api-key": key.api_key})
        assert response.status == 400
        assert (await response.json())["error"]["type"] == "invalid_request_error"
    assert place.provider.seen == []


async def test_a_body_that_is_too_large_is_refused_before_it_is_read(place: Place) -> None:
    key = await place.open()
    line = (
        f"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nx-api-key: {key.api_key}\r\nContent-Length: 99999999\r\n\r\n"
    )
    assert status_of(await send_raw(key, line.encode())) == 413


async def test_the_models_of_a_session_only_narrow_those_of_the_installation(
    tmp_path: Path, provider: ModelProvider
) -> None:
    place = await open_place(tmp_path / "data", provider, Allowance(models=("claude-*",)))
    await place.keys.set("anthropic", "workspace", value=REAL_KEY, by=place.by)
    key = await place.open(terms=Terms(models=("claude-opus-*", "gpt-*")))
    statuses = []
    for model in (MODEL, "claude-haiku-4-5", "gpt-5"):
        async with agent(key) as client:
            body = {**message(), "model": model}
            response = await client.post("/v1/messages", json=body, headers={"x-api-key": key.api_key})
            statuses.append(response.status)
    assert statuses == [200, 403, 403]
    await place.close()


async def test_requests_are_limited_per_session_and_say_when_to_try_again(
    tmp_path: Path, provider: ModelProvider
) -> None:
    place = await open_place(tmp_path / "data", provider, Allowance(session_requests=3, user_requests=5))
    await place.keys.set("anthropic", "workspace", value=REAL_KEY, by=place.by)

    async def statuses_of(key: VirtualKey) -> list[int]:
        async with agent(key) as client:
            sent = [
                await client.post("/v1/messages", json=message(), headers={"x-api-key": key.api_key}) for _ in range(4)
            ]
            assert all(int(one.headers["Retry-After"]) > 0 for one in sent if one.status == 429)
            for one in sent:
                await one.read()
            return [one.status for one in sent]

    assert await statuses_of(await place.open()) == [200, 200, 200, 429]
    second = await place.proxy.open(place.party("ses_2"), "anthropic")
    assert await statuses_of(second) == [200, 200, 429, 429], "all sessions of a user share a limit"
    await place.close()
