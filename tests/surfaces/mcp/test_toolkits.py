"""Toolkits as MCP clients meet them: an address of their own, and tools that are passed through."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.sources.openapi.documents import answers, document
from tests.sources.upstream import as_json, serving
from tests.support.conditions import wait_for
from tests.support.office import add_toolkit, ask_mcp, create_key
from tests.surfaces.api.daemon_server import Daemon, running_upstream
from tests.surfaces.mcp.conftest import about, operator, text_of, value_of
from tests.surfaces.mcp.test_bridge import bridge, execute, initialize, message
from tests.surfaces.mcp.test_bridge import running as running
from tests.surfaces.mcp.test_resumed_streams import break_off, read_answer
from tests.surfaces.mcp.test_tasks import ask as ask_about_task
from tests.surfaces.mcp.test_token_budget import BUDGET, model_text, tokens

LONG = "operation" * 9
RELEASED = threading.Event()
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def operation(name: str, **more: Any) -> dict[str, Any]:
    return {"operationId": name, "tags": ["n"], "summary": f"Do {name}.", "responses": answers({}), **more}


def body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


NOTE = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
PATHS = {
    "/notes": {"get": operation("list"), "post": operation("create", **body(NOTE))},
    "/notes/{id}": {
        "delete": operation(
            "remove", parameters=[{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
        )
    },
    "/wait": {"get": operation("wait")},
    "/long": {"get": operation(f"{LONG}A")},
    "/longer": {"get": operation(f"{LONG}B")},
    "/odd": {"get": operation("odd", parameters=[{"name": "filter[a]", "in": "query", "schema": {"type": "string"}}])},
}


@pytest.fixture(scope="module")
def desk(daemon: Daemon) -> Iterator[str]:
    """A toolkit that passes everything through, and a key of it."""
    with serving() as upstream:
        upstream.otherwise = as_json([{"text": "milk"}])
        upstream.routes["/notes"] = lambda got, handler: as_json(
            {"made": got.json} if got.method == "POST" else [{"text": "milk"}]
        )
        upstream.routes["/wait"] = lambda got, handler: as_json(None if RELEASED.wait(120) else "too late")
        given = json.dumps(document(PATHS, servers=[{"url": upstream.url}]))
        added = daemon.post("/v1/sources", {"document": given, "namespace": "pad", "kind": "openapi"})
        assert added.status == 201, added.body
        add_toolkit(daemon, "pad", patterns=["pad.**"], passThrough=["pad.**"])
        yield create_key(daemon, "pad", "pad-bot")
        daemon.request("DELETE", "/v1/toolkits/pad")
        daemon.request("DELETE", "/v1/sources/pad")


@asynccontextmanager
async def client_of(daemon: Daemon, token: str, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=240, trust_env=False) as http:
        transport = streamable_http_client(f"{daemon.url}/mcp/toolkits/pad", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_lists_and_calls_tools_that_are_passed_through(daemon: Daemon, desk: str, mode: str) -> None:
    async with client_of(daemon, desk, mode) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        read, write, gone = (listed[f"pad_n_{name}"] for name in ("list", "create", "remove"))
        assert read.annotations and read.annotations.read_only_hint
        assert write.annotations and not write.annotations.read_only_hint and not write.annotations.destructive_hint
        assert gone.annotations and gone.annotations.destructive_hint
        assert write.input_schema["required"] == ["text"] and write.output_schema is None
        found = await client.call_tool("pad_n_list", {})
        assert value_of(found) == [{"text": "milk"}] and not found.is_error
        wrong = await client.call_tool("pad_n_create", {"text": 7})
        assert wrong.is_error and "invalid_arguments" in text_of(wrong)


async def test_a_write_pauses_is_approved_and_resumed_like_any_other(daemon: Daemon, desk: str) -> None:
    async with client_of(daemon, desk) as client:
        paused = await client.call_tool("pad_n_create", {"text": "tea"})
        said = about(paused)
        assert said["status"] == "paused" and said["interactions"][0]["url"] in text_of(paused)
        approved = daemon.post(f"/v1/interactions/{said['interactions'][0]['id']}/approve", {})
        assert approved.status == 200, approved.body
        done = await client.call_tool("resume", {"executionId": said["executionId"]})
        assert value_of(done) == {"made": {"text": "tea"}}
    kept = daemon.get(f"/v1/executions/{said['executionId']}?include=calls,code").json
    assert [call["path"] for call in kept["calls"]] == ["pad.n.create"] and kept["code"].startswith("return await")


def test_a_call_whose_stream_breaks_is_answered_as_a_call_of_that_tool(daemon: Daemon, desk: str) -> None:
    event_id = break_off(daemon, "pad_n_wait", {}, role=desk)
    RELEASED.set()
    answer = read_answer(daemon, event_id, role=desk)
    assert answer["id"] == 7 and text_of(answer["result"]) == "Completed; the tool returned nothing."


def test_a_call_that_takes_longer_is_a_task_for_clients_that_know_these(daemon: Daemon, desk: str) -> None:
    RELEASED.clear()
    params = {"name": "pad_n_wait", "arguments": {}}
    task = ask_about_task(daemon, "tools/call", params, role=desk)["result"]
    assert task["resultType"] == "task" and task["status"] == "working"
    RELEASED.set()

    def look() -> Any:
        found = ask_about_task(daemon, "tasks/get", {"taskId": task["taskId"]}, role=desk)["result"]
        return found if found["status"] != "working" else None

    assert text_of(wait_for(look)["result"]) == "Completed; the tool returned nothing."


def test_every_name_and_schema_suits_strict_clients(daemon: Daemon, desk: str) -> None:
    listed = ask_mcp(daemon, "/mcp/toolkits/pad", desk, "tools/list")["tools"]
    names = [tool["name"] for tool in listed]
    assert len(names) == len(set(names)) == 2 + len(PATHS) + 1
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)
    for tool in listed:
        assert tool["inputSchema"]["type"] == "object" and tool["title"] and tool["description"]
        assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", key) for key in tool["inputSchema"]["properties"])
    long = [name for name in names if "operation" in name]
    answered = [ask_mcp(daemon, "/mcp/toolkits/pad", desk, "tools/call", name=name, arguments={}) for name in long]
    assert len(long) == 2 and not any(one["isError"] for one in answered)
    odd = ask_mcp(daemon, "/mcp/toolkits/pad", desk, "tools/call", name="pad_n_odd", arguments={"filter[a]": "x"})
    assert not odd["isError"], odd


def test_without_pass_through_a_toolkit_costs_no_more_than_the_whole_catalog(daemon: Daemon, desk: str) -> None:
    add_toolkit(daemon, "lean", patterns=["pad.**"])
    for token in (daemon.tokens.agent, create_key(daemon, "lean", "lean-bot")):
        lean = ask_mcp(daemon, "/mcp/toolkits/lean", token, "tools/list")
        assert lean == ask_mcp(daemon, "/mcp", daemon.tokens.agent, "tools/list") and len(lean["tools"]) == 2
        hello = ask_mcp(daemon, "/mcp/toolkits/lean", token, "initialize", **HELLO)
        assert tokens(model_text(lean, hello)) <= BUDGET
    daemon.request("DELETE", "/v1/toolkits/lean")


def test_the_fast_road_and_the_sdk_answer_alike(daemon: Daemon, desk: str) -> None:
    """A message with something unusual in it is left to the SDK."""
    for method, params in (
        ("tools/list", {}),
        ("tools/call", {"name": "pad_n_list", "arguments": {}}),
        ("tools/call", {"name": "pad_n_create", "arguments": {"text": None}}),
    ):
        plain, odd = (
            ask_mcp(daemon, "/mcp/toolkits/pad", desk, method, **params, **({"cursor": None, **more} if more else {}))
            for more in ({}, {"_meta": {"io.modelcontextprotocol/x": 1}} if method == "tools/call" else {"x": 1})
        )
        for one in (plain, odd):
            one.pop("_meta", None)
        written = [re.sub(r"exec_\w+", "", json.dumps(one, sort_keys=True)) for one in (plain, odd)]
        assert written[0] == written[1]


def test_over_stdio_a_client_sees_the_toolkit_alone(running: dict[str, str]) -> None:
    with running_upstream() as (address, made):
        operator(running, "sources", "add", f"{address}/openapi.json", "--namespace", "kit")
        operator(running, "toolkits", "add", "kit", "kit.things.*", "--pass-through", "kit.things.listThings")
        with bridge(running, "--toolkit", "kit") as client:
            client.ask(initialize())
            names = [tool["name"] for tool in client.ask(message("tools/list", 2))["result"]["tools"]]
            assert names == ["execute", "resume", "kit_things_listThings"]
            called = client.ask(message("tools/call", 3, name="kit_things_listThings", arguments={}))
            assert called["result"]["content"][0]["text"] == "[]" and made == []
            outside = client.ask(execute("return await tools.executor.sources.list({})", 4))
            assert outside["result"]["isError"]
        operator(running, "toolkits", "remove", "kit")
        with bridge(running, "--toolkit", "kit") as client:
            client.ask(initialize())
            assert "no toolkit" in client.ask(message("tools/list", 2))["error"]["message"]
        operator(running, "sources", "remove", "kit")
