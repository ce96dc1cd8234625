from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from mcp import MCPError

from executor.surfaces.mcp import gateway
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.mcp.conftest import about, connect_client, text_of, value_of

MODES = ["auto", "legacy", "2026-07-28"]
WRITE = 'return await tools.shop.things.createThing({name: "lamp"})'


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_of_any_revision_executes_code(daemon: Daemon, mode: str) -> None:
    async with connect_client(daemon, mode=mode) as client:
        result = await client.call_tool("execute", {"code": "return {sum: 1 + 1, nothing: null}"})
    assert not result.is_error
    assert json.loads(text_of(result)) == {"sum": 2, "nothing": None}
    assert about(result)["status"] == "completed"
    assert about(result)["executionId"].startswith("exec_")


async def test_the_newest_revision_is_negotiated_and_the_older_one_on_request(daemon: Daemon) -> None:
    async with connect_client(daemon) as client:
        assert client.protocol_version == "2026-07-28"
    async with connect_client(daemon, mode="legacy") as client:
        assert client.protocol_version == "2025-11-25"


@pytest.mark.parametrize("mode", MODES)
async def test_two_tools_are_offered_and_they_lead_to_discovery(daemon: Daemon, mode: str) -> None:
    async with connect_client(daemon, mode=mode) as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == ["execute", "resume"]
    execute, resume = tools
    assert "tools.discover({query, limit: 3})" in (execute.description or "")
    assert "app + verb + object" in (execute.description or "")
    assert execute.input_schema["required"] == ["code"]
    assert list(resume.input_schema["properties"]) == ["executionId"]


async def test_an_agent_finds_a_tool_and_calls_it(daemon: Daemon, shop: list[Any]) -> None:
    async with connect_client(daemon) as client:
        found = await client.call_tool("execute", {"code": 'return await tools.discover({query: "shop list things"})'})
        assert value_of(found)["bestPath"] == "shop.things.listThings"
        listed = await client.call_tool("execute", {"code": "return await tools.shop.things.listThings()"})
    assert value_of(listed) == shop


async def test_a_string_result_is_json_and_logs_follow(daemon: Daemon) -> None:
    async with connect_client(daemon) as client:
        result = await client.call_tool("execute", {"code": "console.warn('careful'); return 'done'"})
        silent = await client.call_tool("execute", {"code": "const a = 1"})
    assert text_of(result) == '"done"\n\nLogs:\n[warn] careful'
    assert text_of(silent) == "Completed; the code returned nothing. To get a result, end with `return value`."


async def test_a_failure_tells_the_code_the_message_and_the_line(daemon: Daemon) -> None:
    async with connect_client(daemon) as client:
        thrown = await client.call_tool("execute", {"code": "const a = 1\nthrow new Error('boom')"})
        syntax = await client.call_tool("execute", {"code": "const = 1"})
    assert thrown.is_error
    assert "code_error" in text_of(thrown)
    assert "boom" in text_of(thrown)
    assert "line 2" in text_of(thrown)
    assert about(thrown)["error"] == {"code": "code_error"}
    assert syntax.is_error
    assert text_of(syntax).startswith("syntax_error")


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("execute", {"code": ""}, "empty_code"),
        ("execute", {"code": "x" * 1_000_001}, "code_too_large"),
        ("execute", {"code": "return 1", "language": "cobol"}, "unknown_runtime"),
        ("execute", {}, "invalid_request"),
        ("execute", {"code": 1}, "invalid_request"),
        ("resume", {"executionId": 1}, "invalid_request"),
        ("resume", {"executionId": "exec_guessed"}, "not_found"),
        ("execute", {"code": None}, "invalid_request"),
        ("execute", {"code": ["return 1"]}, "invalid_request"),
        ("resume", {"executionId": "exec_guessed", "action": "accept"}, "not_found"),
    ],
)
async def test_what_can_not_be_done_is_an_error_the_model_can_read(
    daemon: Daemon, name: str, arguments: dict[str, Any], code: str
) -> None:
    async with connect_client(daemon) as client:
        result = await client.call_tool(name, arguments)
    assert result.is_error
    assert about(result)["error"]["code"] == code
    assert text_of(result).startswith(f"{code}: ")


async def test_an_unknown_tool_is_a_protocol_error(daemon: Daemon) -> None:
    async with connect_client(daemon) as client:
        with pytest.raises(MCPError, match="unknown tool"):
            await client.call_tool("approve", {"id": "int_x"})


@pytest.mark.parametrize("mode", MODES)
async def test_a_pause_tells_what_is_asked_and_resume_returns_the_outcome_every_time(
    daemon: Daemon, shop: list[Any], mode: str
) -> None:
    before = len(shop)
    async with connect_client(daemon, mode=mode) as client:
        paused = await client.call_tool("execute", {"code": WRITE})
        view = about(paused)
        asked = view["interactions"][0]
        assert not paused.is_error
        assert view["status"] == "paused"
        for shown in (view["executionId"], "shop.things.createThing", '{"name":"lamp"}', asked["url"], asked["id"]):
            assert shown in text_of(paused)
        waiting = asyncio.create_task(client.call_tool("resume", {"executionId": view["executionId"]}))
        settled = await asyncio.to_thread(daemon.post, f"/v1/interactions/{asked['id']}/approve", {})
        assert settled.status == 200
        first = await waiting
    async with connect_client(daemon, mode=mode) as client:
        second = await client.call_tool("resume", {"executionId": view["executionId"]})
    assert about(first)["status"] == "completed"
    assert value_of(first)["name"] == "lamp"
    assert about(second) == about(first)
    assert second.content == first.content
    assert len(shop) == before + 1


async def test_a_denial_is_a_failure_with_the_reason(daemon: Daemon, shop: list[Any]) -> None:
    async with connect_client(daemon) as client:
        view = about(await client.call_tool("execute", {"code": WRITE}))
        path = f"/v1/interactions/{view['interactions'][0]['id']}/deny"
        await asyncio.to_thread(daemon.post, path, {"reason": "too many lamps"})
        result = await client.call_tool("resume", {"executionId": view["executionId"]})
    assert result.is_error
    assert text_of(result).startswith("denied: ")
    assert "too many lamps" in text_of(result)


@pytest.mark.parametrize("role", ["agent", "operator"])
async def test_whoever_uses_mcp_acts_as_the_agent(daemon: Daemon, shop: list[Any], role: str) -> None:
    """Even the operator's token decides nothing there: the execution belongs to the agent and stays paused."""
    async with connect_client(daemon, role=role) as client:
        view = about(await client.call_tool("execute", {"code": WRITE}))
    execution = daemon.run(daemon.executor.engine.outcome(daemon.executor.tenancy.agent, view["executionId"])).execution
    assert execution.actor_id == daemon.executor.tenancy.agent.id
    assert execution.status == "paused"


async def test_a_second_approval_ends_the_wait_for_the_first(daemon: Daemon, shop: list[Any]) -> None:
    code = f"{WRITE.replace('return ', '')};\n{WRITE}"
    async with connect_client(daemon) as client:
        view = about(await client.call_tool("execute", {"code": code}))
        asked = view["interactions"][0]["id"]
        waiting = asyncio.create_task(client.call_tool("resume", {"executionId": view["executionId"]}))
        await asyncio.to_thread(daemon.post, f"/v1/interactions/{asked}/approve")
        again = about(await waiting)
    assert again["status"] == "paused"
    assert again["interactions"][0]["id"] != asked


async def test_code_that_takes_longer_than_a_client_waits_is_answered_with_its_id(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway, "WAIT_SECONDS", 0.1)
    async with connect_client(daemon) as client:
        code = "await new Promise(r => setTimeout(r, 5000)); return 'late'"
        early = await client.call_tool("execute", {"code": code})
        monkeypatch.undo()
        late = await client.call_tool("resume", {"executionId": about(early)["executionId"]})
    assert about(early)["status"] == "running"
    assert not early.is_error
    assert f'resume with {{"executionId": "{about(early)["executionId"]}"}}' in text_of(early)
    assert text_of(late) == '"late"'


async def test_clients_with_equal_request_ids_get_their_own_answers(daemon: Daemon) -> None:
    """Each client counts its requests from the same number; twenty of them at once."""

    async def one(number: int, mode: str) -> Any:
        async with connect_client(daemon, mode=mode) as client:
            delay = (20 - number) * 10
            code = f"await new Promise(r => setTimeout(r, {delay})); return {number}"
            return value_of(await client.call_tool("execute", {"code": code}))

    results = await asyncio.gather(*(one(number, MODES[number % 2]) for number in range(20)))
    assert results == list(range(20))


async def test_one_client_may_run_many_executions_at_once(daemon: Daemon) -> None:
    async with connect_client(daemon) as client:
        results = await asyncio.gather(
            *(client.call_tool("execute", {"code": f"return {number}"}) for number in range(12))
        )
    assert [value_of(result) for result in results] == list(range(12))
