"""What a client can read beside the tools: the guide, also as a prompt, and artifacts."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from executor.surfaces.mcp.resources import GUIDE, guide
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.api.identities import agent
from tests.surfaces.mcp.conftest import about, connect_client
from tests.surfaces.mcp.test_clients import HEADERS
from tests.surfaces.mcp.test_token_budget import tokens

MODES = ["auto", "legacy"]
LARGE = "return 'word '.repeat(10000)"


@pytest.mark.parametrize("mode", MODES)
async def test_the_guide_is_a_resource_and_a_prompt(daemon: Daemon, mode: str) -> None:
    async with connect_client(daemon, mode=mode) as client:
        listed = await client.list_resources()
        assert listed.resources[0].uri == GUIDE
        [read] = (await client.read_resource(GUIDE)).contents
        [prompt] = (await client.list_prompts()).prompts
        plain = await client.get_prompt(prompt.name)
        asked = await client.get_prompt(prompt.name, {"task": "refund inv_1003"})
    assert read.model_dump()["text"] == guide() and read.mime_type == "text/markdown"
    assert [message.content.type for message in plain.messages] == ["resource"]
    assert asked.messages[-1].content.model_dump()["text"] == "refund inv_1003"


def test_the_guide_is_a_skill_file_that_costs_few_tokens() -> None:
    head, _, body = guide().removeprefix("---\n").partition("\n---\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert fields["name"] == "executor" and 20 < len(fields["description"]) < 1024
    assert tokens(body) < 1_500


@pytest.mark.parametrize("mode", MODES)
async def test_a_large_result_comes_with_a_link_that_can_be_read(daemon: Daemon, mode: str) -> None:
    async with connect_client(daemon, mode=mode) as client:
        result = await client.call_tool("execute", {"code": LARGE})
        text, link = result.content
        assert (text.type, link.type) == ("text", "resource_link")
        uri = link.model_dump()["uri"]
        assert uri == f"executor://artifacts/{about(result)['artifact']['id']}"
        [read] = (await client.read_resource(uri)).contents
        listed = [one.uri for one in (await client.list_resources()).resources]
    assert read.model_dump()["text"] == "word " * 10_000
    assert uri in listed


async def test_a_file_is_read_as_bytes(daemon: Daemon) -> None:
    data = base64.b64encode(b"%PDF" * 2_000).decode()
    code = f"return {{file: {{base64: '{data}', contentType: 'application/pdf'}}}}"
    async with connect_client(daemon) as client:
        await client.call_tool("execute", {"code": code})
        file = next(one for one in (await client.list_resources()).resources if one.mime_type == "application/pdf")
        [read] = (await client.read_resource(file.uri)).contents
    assert base64.b64decode(read.model_dump()["blob"]) == b"%PDF" * 2_000


def test_older_revisions_get_no_link_that_they_do_not_know(daemon: Daemon) -> None:
    for version, blocks in (("2025-03-26", ["text"]), ("2025-06-18", ["text", "resource_link"])):
        params = {"name": "execute", "arguments": {"code": LARGE}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = daemon.post("/mcp", message, role="agent", headers={**HEADERS, "MCP-Protocol-Version": version})
        assert [block["type"] for block in answer.json["result"]["content"]] == blocks


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_not_there_or_belongs_to_another_agent_is_refused_alike(daemon: Daemon, mode: str) -> None:
    other = agent(daemon, f"other{mode}")
    made = daemon.execute(LARGE, role=other.token)
    uris = [f"executor://artifacts/{made['artifact']['id']}", "executor://artifacts/art_none", "file:///etc/passwd"]
    async with connect_client(daemon, mode=mode) as client:
        for uri in uris:
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert refused.value.code == (-32602 if mode == "auto" else -32002)
            assert refused.value.error.data == {"uri": uri}
        with pytest.raises(MCPError, match="the only prompt is guide"):
            await client.get_prompt("another")
        listed = [one.uri for one in (await client.list_resources()).resources]
    assert uris[0] not in listed


def log_lines(daemon: Daemon, meta: dict[str, Any], session: str = "") -> list[Any]:
    """What comes before the answer to a call that makes a call."""
    code = "return await tools.shop.things.listThings({})"
    params = {"name": "execute", "arguments": {"code": code}, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}
    answer = daemon.post("/mcp", message, role="agent", headers={**HEADERS, "Mcp-Session-Id": session})
    if answer.headers["content-type"].startswith("application/json"):
        return []
    lines = [line.removeprefix("data: ") for line in answer.body.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines][:-1]


def test_calls_are_reported_as_progress_to_those_who_asked(daemon: Daemon, shop: list[Any]) -> None:
    reports = log_lines(daemon, {"progressToken": "mine"})
    said = [one["params"]["message"] for one in reports]
    assert said[0] == "shop.things.listThings started" and "shop.things.listThings succeeded" in said
    assert [one["params"]["progress"] for one in reports] == list(range(1, len(reports) + 1))
    assert log_lines(daemon, {}) == []
