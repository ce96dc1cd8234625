"""`executor mcp`: a real process on real pipes, in front of a real daemon."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE

from mcp import Client, StdioServerParameters

from executor.daemon import control as process
from executor.settings import Settings
from tests.surfaces.api.daemon_server import running_upstream
from tests.surfaces.mcp.conftest import about, operator, text_of, value_of


@asynccontextmanager
async def connect(environment: dict[str, str]) -> AsyncIterator[Client]:
    server = StdioServerParameters(command=sys.executable, args=["-m", "executor", "mcp"], env=environment)
    async with Client(server) as client:
        yield client


async def test_the_daemon_is_started_and_code_runs(environment: dict[str, str]) -> None:
    async with connect(environment) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["execute", "resume"]
        result = await client.call_tool("execute", {"code": "return 6 * 7"})
    assert text_of(result) == "42"


async def test_a_pause_is_settled_elsewhere_and_resumed_here(environment: dict[str, str]) -> None:
    with running_upstream() as (address, made):
        await asyncio.to_thread(
            operator, environment, "sources", "add", f"{address}/openapi.json", "--namespace", "shop"
        )
        async with connect(environment) as client:
            paused = await client.call_tool(
                "execute", {"code": 'return await tools.shop.things.createThing({name: "lamp"})'}
            )
            asked = about(paused)["interactions"][0]["id"]
            execution = {"executionId": about(paused)["executionId"]}
            waiting = asyncio.create_task(client.call_tool("resume", execution))
            settled = await asyncio.to_thread(operator, environment, "approvals", "approve", asked)
            first = await waiting
            second = await client.call_tool("resume", execution)
    assert settled["status"] == "approved"
    assert value_of(first)["name"] == "lamp"
    assert second.content == first.content
    assert [one for one in made if "name" in one] == [{"name": "lamp"}]


async def test_errors_of_the_daemon_are_passed_on(environment: dict[str, str]) -> None:
    async with connect(environment) as client:
        empty = await client.call_tool("execute", {"code": ""})
        unknown = await client.call_tool("resume", {"executionId": "../../v1/status"})
    assert about(empty)["error"]["code"] == "empty_code"
    assert about(unknown)["error"]["code"] == "not_found"


async def test_a_daemon_that_went_away_is_started_again(environment: dict[str, str]) -> None:
    async with connect(environment) as client:
        before = await client.call_tool("execute", {"code": "return 1"})
        stopped = await asyncio.to_thread(process.stop, Settings.load(environment))
        after = await client.call_tool("execute", {"code": "return 2"})
        old = await client.call_tool("resume", {"executionId": about(before)["executionId"]})
    assert stopped
    assert value_of(after) == 2
    assert value_of(old) == 1


def test_nothing_but_the_protocol_is_written_to_standard_output(environment: dict[str, str], tmp_path: Path) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    lines = "".join(json.dumps(message) + "\n" for message in (hello, ready, listing))
    command = [sys.executable, "-m", "executor", "mcp"]
    with subprocess.Popen(command, env=environment, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(lines + "not json\n")
        process.stdin.flush()
        answers = []
        while not {1, 2} <= {answer.get("id") for answer in answers}:  # what is under way at the end is dropped
            answers.append(json.loads(process.stdout.readline()))
        rest, _ = process.communicate(timeout=60)
        answers += [json.loads(line) for line in rest.splitlines()]
    assert {answer.get("id") for answer in answers} >= {1, 2}
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)


async def test_the_bridge_holds_only_the_agents_token(environment: dict[str, str]) -> None:
    """What it runs belongs to the agent, so it can't decide its own pause."""
    async with connect(environment) as client:
        await client.call_tool("execute", {"code": "return 1"})
    data = Path(environment["EXECUTOR_DATA_DIR"])
    (data / "operator.token").rename(data / "hidden.token")
    try:
        async with connect(environment) as client:
            result = await client.call_tool("execute", {"code": "return 3"})
    finally:
        (data / "hidden.token").rename(data / "operator.token")
    assert value_of(result) == 3


async def test_a_large_result_is_a_preview_here_too(environment: dict[str, str]) -> None:
    async with connect(environment) as client:
        result = await client.call_tool("execute", {"code": "return Array.from({length: 90000}, (_, i) => i)"})
        again = await client.call_tool("resume", {"executionId": about(result)["executionId"]})
    assert "of 90000 items" in text_of(result) and len(text_of(result)) < 8_000
    assert again.content == result.content
