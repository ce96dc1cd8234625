"""Clients that can show a page are given the one where a person decides. Whatever they answer, it decides nothing."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from executor.daemon import control
from executor.surfaces.mcp import gateway, stdio
from executor.surfaces.mcp.elicitation import MOST_SHOWN, Links
from tests.support.conditions import wait_for
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon, running_daemon, running_upstream
from tests.surfaces.mcp.conftest import about, text_of
from tests.surfaces.mcp.test_bridge import execute, initialize
from tests.surfaces.mcp.test_clients import call
from tests.surfaces.mcp.test_malformed_requests import ACCEPT, HANDSHAKE, modern_request, request
from tests.surfaces.mcp.tool_call import SESSION, SentCall, status_of

WRITE = {
    "typescript": 'return await tools.shop.things.createThing({name: "lamp"})',
    "python": 'await tools.shop.things.createThing(name="lamp")',
}
PAGES = {"Mcp-Session-Id": "mine-url"}
ROADS: dict[str, dict[str, Any]] = {"plain": {}, "sdk": {"unknown": 1}}
CAPABLE = {"elicitation": {"form": {}, "url": {}}}
NOT_CAPABLE: list[Any] = [{}, {"elicitation": {}}, {"elicitation": {"form": {}}}, {"roots": {"url": {}}}]
REFUSALS: list[dict[str, Any]] = [
    {"result": {"action": "decline"}},
    {"result": {"action": "cancel"}},
    {"result": {"action": "approve"}},
    {"result": {}},
    {"result": None},
    {"error": {"code": -32601, "message": "no such method"}},
]


class Events:
    """The messages of a stream, as they come."""

    def __init__(self, sent: SentCall) -> None:
        self._response = sent.response()
        self.response = self._response.__enter__()
        assert self.response.headers["content-type"].startswith("text/event-stream")

    def next(self) -> Any:
        while not (line := self.response.readline().decode()).startswith("data: "):
            assert line, "the stream ended"
        return json.loads(line.removeprefix("data: "))


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_the_page_is_shown_in_every_revision_in_which_a_client_says_so(
    daemon: Daemon, shop: list[Any], version: str
) -> None:
    headers = {**PAGES, "MCP-Protocol-Version": version}
    events = Events(SentCall(daemon, "execute", {"code": WRITE["typescript"]}, headers=headers))
    asked = events.next()
    assert asked["method"] == "elicitation/create"
    reply(daemon, asked["id"], {"result": {"action": "decline"}})
    assert about(events.next()["result"])["status"] == "paused"


def begin(daemon: Daemon, language: str = "typescript", road: str = "plain", **more: Any) -> Events:
    arguments = {"code": WRITE[language], "language": language}
    return Events(SentCall(daemon, "execute", arguments, headers=PAGES, **ROADS[road], **more))


def reply(daemon: Daemon, number: str, outcome: dict[str, Any], role: str = "agent") -> int:
    headers = {**ACCEPT, **SESSION, **PAGES}
    return daemon.post("/mcp", {"jsonrpc": "2.0", "id": number, **outcome}, role=role, headers=headers).status


def interaction_of(asked: Any) -> str:
    return str(asked["params"]["url"].rpartition("/")[2])


def is_pending(daemon: Daemon, asked: Any) -> bool:
    return bool(daemon.get(f"/v1/interactions/{interaction_of(asked)}").json["status"] == "pending")


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("language", WRITE)
def test_the_page_is_shown_and_the_decision_made_there_brings_the_result(
    daemon: Daemon, shop: list[Any], language: str, road: str
) -> None:
    events = begin(daemon, language, road)
    asked = events.next()
    assert asked["method"] == "elicitation/create" and asked["jsonrpc"] == "2.0"
    params = asked["params"]
    assert params.keys() == {"mode", "elicitationId", "message", "url"} and params["mode"] == "url"
    assert params["message"] == "Executor needs your decision: approval, shop.things.createThing"
    assert "/approvals/int_" in params["url"]
    assert reply(daemon, asked["id"], {"result": {"action": "accept"}}) == 202
    assert is_pending(daemon, asked)
    assert daemon.post(f"/v1/interactions/{interaction_of(asked)}/approve", {}).status == 200
    done = events.next()
    assert (done["method"], done["params"]) == (
        "notifications/elicitation/complete",
        {"elicitationId": params["elicitationId"]},
    )
    last = events.next()
    assert last["id"] == 7 and json.loads(text_of(last["result"]))["name"] == "lamp"


def test_a_decision_counts_whether_or_not_the_client_answers(daemon: Daemon, shop: list[Any]) -> None:
    events = begin(daemon)
    asked = events.next()
    daemon.post(f"/v1/interactions/{interaction_of(asked)}/deny", {"reason": "no lamps"})
    assert events.next()["method"] == "notifications/elicitation/complete"
    assert "no lamps" in text_of(events.next()["result"])
    assert reply(daemon, asked["id"], {"result": {"action": "accept"}}) == 202  # too late, and harmless


@pytest.mark.parametrize("outcome", REFUSALS, ids=str)
def test_a_client_that_declines_or_fails_gets_the_text_as_ever(
    daemon: Daemon, shop: list[Any], outcome: dict[str, Any]
) -> None:
    events = begin(daemon)
    asked = events.next()
    assert reply(daemon, asked["id"], outcome) == 202
    result = events.next()["result"]
    assert about(result)["status"] == "paused" and asked["params"]["url"] in text_of(result)
    assert text_of(result).startswith("Paused: a human must decide") and "You can't approve this" in text_of(result)
    assert is_pending(daemon, asked) and status_of(daemon, about(result)["executionId"]) == "paused"


def test_accepting_approves_nothing(daemon: Daemon, shop: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "WAIT_SECONDS", 2.0)
    before = len(shop)
    events = begin(daemon)
    asked = events.next()
    for outcome in ({"result": {"action": "accept", "content": {"approve": True}}}, {"result": {"action": "accept"}}):
        assert reply(daemon, asked["id"], outcome) == 202
    result = events.next()["result"]
    assert about(result)["status"] == "paused" and is_pending(daemon, asked)
    assert len(shop) == before


def test_nobody_answers_for_another_agent(daemon: Daemon, shop: list[Any]) -> None:
    other = identities.agent(daemon, "meddler")
    events = begin(daemon)
    asked = events.next()
    assert reply(daemon, asked["id"], {"result": {"action": "decline"}}, role=other.token) == 202
    daemon.post(f"/v1/interactions/{interaction_of(asked)}/approve", {})
    assert events.next()["method"] == "notifications/elicitation/complete"  # it still waited
    assert about(events.next()["result"])["status"] == "completed"


def test_a_page_is_shown_once_and_resume_shows_what_is_new(
    daemon: Daemon, shop: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    paused = call(daemon, "execute", {"code": WRITE["typescript"]})
    execution = {"executionId": about(paused)["executionId"]}
    events = Events(SentCall(daemon, "resume", execution, headers=PAGES))
    asked = events.next()
    assert asked["params"]["url"] == about(paused)["interactions"][0]["url"]
    reply(daemon, asked["id"], {"result": {"action": "decline"}})
    assert about(events.next()["result"])["status"] == "paused"
    monkeypatch.setattr(gateway, "WAIT_SECONDS", 0.1)
    [again] = SentCall(daemon, "resume", execution, headers=PAGES).messages()
    assert text_of(again["result"]) == text_of(paused)


def test_several_approvals_are_one_page(daemon: Daemon, shop: list[Any]) -> None:
    code = 'return await Promise.all(["a", "b"].map(name => tools.shop.things.createThing({name})))'
    events = Events(SentCall(daemon, "execute", {"code": code}, headers=PAGES))
    asked = events.next()
    assert asked["params"]["message"].endswith("shop.things.createThing and 1 more")
    reply(daemon, asked["id"], {"result": {"action": "cancel"}})
    assert len(about(events.next()["result"])["interactions"]) == 2


@pytest.mark.parametrize(
    "headers",
    [
        {"Mcp-Session-Id": "mine"},
        {"Mcp-Session-Id": "url-mine", "MCP-Protocol-Version": "2025-06-18"},
        {**PAGES, "Accept": "application/json"},
    ],
)
def test_who_has_not_said_so_is_shown_no_page(daemon: Daemon, shop: list[Any], headers: dict[str, str]) -> None:
    [answer] = SentCall(daemon, "execute", {"code": WRITE["typescript"]}, headers=headers).messages()
    assert about(answer["result"])["status"] == "paused"


@pytest.mark.parametrize("road", ROADS)
def test_the_session_says_whether_a_client_shows_pages(daemon: Daemon, road: str) -> None:
    for capabilities in (CAPABLE, *NOT_CAPABLE):
        sent = request("initialize", {**HANDSHAKE, "capabilities": capabilities})
        answer = daemon.post("/mcp", {**sent, **ROADS[road]}, role="agent", headers=ACCEPT)
        assert answer.headers["mcp-session-id"].endswith("-url") == (capabilities == CAPABLE)


def modern(daemon: Daemon, road: str, capabilities: Any = CAPABLE, name: str = "execute", **params: Any) -> Any:
    message, headers = modern_request("tools/call", {"name": name, **params})
    message["params"]["_meta"] = {
        **message["params"]["_meta"],
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }
    return daemon.post("/mcp", {**message, **ROADS[road]}, role="agent", headers=headers).json["result"]


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("language", WRITE)
def test_the_newest_revision_asks_for_it_and_is_asked_again(
    daemon: Daemon, shop: list[Any], language: str, road: str
) -> None:
    arguments = {"code": WRITE[language], "language": language}
    asked = modern(daemon, road, arguments=arguments)
    assert asked["resultType"] == "input_required"
    assert asked["inputRequests"]["decision"]["method"] == "elicitation/create"
    params = asked["inputRequests"]["decision"]["params"]
    assert params.keys() == {"mode", "message", "url"} and params["mode"] == "url"
    executions = len(daemon.get("/v1/executions?limit=100").json["items"])
    retry = {"arguments": arguments, "requestState": asked["requestState"]}
    for refusal in ({"decision": {"action": "decline"}}, {"decision": {"action": "cancel"}}, {}):
        result = modern(daemon, road, **retry, inputResponses=refusal)
        assert result["resultType"] == "complete" and params["url"] in text_of(result)
        assert is_pending(daemon, {"params": params})
    accepted = {"decision": {"action": "accept"}}
    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(modern(daemon, road, **retry, inputResponses=accepted)))
    waiting.start()
    assert is_pending(daemon, {"params": params})
    daemon.post(f"/v1/interactions/{interaction_of({'params': params})}/approve", {})
    waiting.join(60)
    assert json.loads(text_of(answers[0]))["name"] == "lamp"
    assert len(daemon.get("/v1/executions?limit=100").json["items"]) == executions  # the code was not run again


@pytest.mark.parametrize("capabilities", NOT_CAPABLE)
def test_the_newest_revision_asks_only_who_can(daemon: Daemon, shop: list[Any], capabilities: Any) -> None:
    result = modern(daemon, "plain", capabilities, arguments={"code": WRITE["typescript"]})
    assert result["resultType"] == "complete" and about(result)["status"] == "paused"


def test_a_state_of_another_agents_execution_shows_nothing(daemon: Daemon, shop: list[Any]) -> None:
    other = identities.agent(daemon, "peeper")
    theirs = call(daemon, "execute", {"code": WRITE["typescript"]})
    message, headers = modern_request("tools/call", {"name": "execute", "arguments": {"code": "return 1"}})
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = CAPABLE
    for response in ("accept", "decline"):
        message["params"] |= {
            "requestState": about(theirs)["executionId"],
            "inputResponses": {"decision": {"action": response}},
        }
        result = daemon.post("/mcp", message, role=other.token, headers=headers).json["result"]
        assert result["isError"] and text_of(result).startswith("not_found: ")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_the_official_client_shows_the_page(daemon: Daemon, shop: list[Any], mode: str, action: Any) -> None:
    shown: list[str] = []

    async def show(context: Any, params: Any) -> types.ElicitResult:
        shown.append(params.url)
        if action == "accept":
            decided = f"/v1/interactions/{params.url.rpartition('/')[2]}/approve"
            await asyncio.to_thread(daemon.post, decided, {})
        return types.ElicitResult(action=action)

    headers = {"Authorization": f"Bearer {daemon.tokens.agent}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
        transport = streamable_http_client(f"{daemon.url}/mcp", http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=show) as client:
            result = await client.call_tool("execute", {"code": WRITE["typescript"]})
    assert len(shown) == 1
    if action == "accept":
        assert json.loads(text_of(result))["name"] == "lamp"
    else:
        assert about(result)["status"] == "paused" and shown[0] in text_of(result)


def test_the_stdio_bridge_carries_the_approval_and_the_answer(
    daemon: Daemon, shop: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    running = control.Running(pid=1, host="127.0.0.1", port=daemon.port, start_id="", version="")
    monkeypatch.setattr(control, "find", lambda settings: None)
    monkeypatch.setattr(control, "ensure", lambda *given: running)
    reading, writing = os.pipe()
    hello = initialize()
    hello["params"]["capabilities"] = CAPABLE
    seen: list[Any] = []
    with os.fdopen(reading, "rb") as answered, os.fdopen(writing, "wb") as output:

        def lines() -> Iterator[bytes]:
            yield json.dumps(hello).encode()
            seen.append(json.loads(answered.readline()))
            yield json.dumps(execute(WRITE["typescript"], 2)).encode()
            seen.append(asked := json.loads(answered.readline()))
            daemon.post(f"/v1/interactions/{interaction_of(asked)}/approve", {})
            yield json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept"}}).encode()

        credential = {"Authorization": f"Bearer {daemon.tokens.agent}"}
        stdio.Bridge(daemon.executor.settings, lambda: credential, output).serve(lines())
        seen += [json.loads(answered.readline()) for _ in range(2)]
    assert [one.get("method") for one in seen] == [
        None,
        "elicitation/create",
        "notifications/elicitation/complete",
        None,
    ]
    assert json.loads(text_of(seen[-1]["result"]))["name"] == "lamp"


async def test_what_is_remembered_of_pages_and_requests_is_bounded(daemon: Daemon, shop: list[Any]) -> None:
    links = Links()
    asked = {"kind": "approval", "tool": "a.b", "url": "http://x"}
    for number in range(MOST_SHOWN + 10):
        assert links.take({"status": "paused", "interactions": [{**asked, "id": f"int_{number}"}]})
    assert len(links._shown) == MOST_SHOWN
    of_daemon = daemon.front._mcp.result()._links
    wait_for(lambda: not of_daemon._open)


@pytest.mark.parametrize("road", ROADS)
def test_the_setting_decides_and_not_the_client(tmp_path: Path, road: str) -> None:
    """Without pages, every client gets the link in the text, at once."""
    with running_daemon(tmp_path, approval_pages_in_clients=False) as daemon, running_upstream() as (address, _):
        added = daemon.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "shop"})
        assert added.status == 201, added.body
        older = SentCall(daemon, "execute", {"code": WRITE["typescript"]}, headers=PAGES, **ROADS[road]).answer()
        newest = modern(daemon, road, arguments={"code": WRITE["typescript"]})
    for result in (older, newest):
        assert about(result)["status"] == "paused" and "/approvals/int_" in text_of(result)
