"""Resources and prompts of a server are tools that read, whatever else the server has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from executor.errors import ToolError
from executor.model.interaction import LISTENER
from executor.sources.mcp.tools.tool_list import MAX_LISTED
from tests.sources.mcp.conftest import SERVERS, Connected, McpConnector
from tests.support.conditions import until

OFFERING = str(SERVERS / "offering.py")


@pytest.fixture
async def offering(connect: McpConnector) -> Connected:
    return await connect.to_command(OFFERING, "plain")


def paths(connected: Connected, group: str) -> list[str]:
    start = f"{connected.loaded.namespace}.{group}."
    return [tool.path.removeprefix(start) for tool in connected.loaded.tools if tool.path.startswith(start)]


async def call(connected: Connected, name: str, **arguments: Any) -> Any:
    [tool] = [one for one in connected.loaded.tools if one.path == f"{connected.loaded.namespace}.{name}"]
    return orjson.loads(await connected.kind.invoke(connected.source, tool, arguments, "key"))


async def test_each_resource_template_and_prompt_is_a_tool_that_reads(offering: Connected) -> None:
    found = paths(offering, "resources")
    assert found[:4] == ["read", "list", "read_", "List_"] and {"picture", "large"} <= set(found)
    assert len([name for name in found if name.startswith("same_")]) == 2 and len(set(found)) == len(found)
    assert paths(offering, "prompts") == ["ask"]
    groups = [tool for tool in offering.loaded.tools if tool.path.count(".") == 2]
    assert {tool.effect for tool in groups} == {"read"} and all(tool.output_schema for tool in groups)
    reasons = {one.where: one.reason for one in offering.loaded.skipped}
    assert "no variables" in reasons["by demo://plain"] and "can't be used" in reasons["by demo://{"]
    assert "50 arguments" in reasons["many"]


async def test_no_tool_of_the_server_takes_the_place_of_a_resource(offering: Connected) -> None:
    own = {tool.path for tool in offering.loaded.tools if tool.path.count(".") == 1}
    assert own == {f"offering.{name}" for name in ("read", "cancelled", "slow", "resources", "prompts")}
    assert any("request of the protocol" in one.reason for one in offering.loaded.skipped)
    assert orjson.loads(await call(offering, "read"))[0] == "read"
    assert (await call(offering, "resources.read", uri="demo://z"))["contents"][0]["text"] == "this is demo://z"


async def test_texts_bytes_pages_and_templates_are_read(offering: Connected) -> None:
    assert await call(offering, "resources.read_") == {
        "contents": [{"uri": "demo://read", "text": "this is demo://read"}]
    }
    picture = await call(offering, "resources.picture")
    assert picture["contents"][0]["mimeType"] == "image/png" and len(picture["contents"][0]["base64"]) == 16_000
    first = await call(offering, "resources.list")
    assert len(first["resources"]) == 4 and first["nextCursor"] == "more"
    assert "nextCursor" not in await call(offering, "resources.list", cursor="more")
    template = next(name for name in paths(offering, "resources") if name.startswith("by"))
    read = await call(offering, f"resources.{template}", a="x/y", rest="p/q", limit="2")
    assert read["contents"][0]["uri"] == "demo://x%2Fy/p/q?limit=2"
    prompt = await call(offering, "prompts.ask", who="you")
    assert prompt == {
        "description": "d",
        "messages": [{"role": "user", "content": {"type": "text", "text": "hello you"}}],
    }


async def test_what_a_server_answers_wrongly_is_an_error_of_that_call(offering: Connected) -> None:
    with pytest.raises(ToolError) as odd:
        await call(offering, "resources.odd")
    assert odd.value.tool_code == "unexpected_response"
    with pytest.raises(ToolError) as gone:
        await call(offering, "resources.read", uri="demo://gone")
    assert gone.value.tool_code == "upstream_error" and gone.value.tool_details["code"] == -32002


@pytest.mark.parametrize(
    ("mode", "count", "reason"),
    [("endless", 100, "pages"), ("many", MAX_LISTED, "only the first"), ("refusing", 0, "refuses to list"),
     ("broken", 1, "can't be sent back")],
)  # fmt: skip
async def test_lists_without_end_and_lists_that_are_refused_leave_the_tools_alone(
    connect: McpConnector, mode: str, count: int, reason: str
) -> None:
    connected = await connect.to_command(OFFERING, mode)
    listed = [tool for tool in connected.loaded.tools if tool.binding.get("uri")]
    assert len(listed) == count and "offering.read" in {tool.path for tool in connected.loaded.tools}
    reasons = " ".join(one.reason for one in connected.loaded.skipped)
    assert reason in reasons and "\x1b" not in reasons


async def test_a_server_without_tools_is_connected_by_what_else_it_has(connect: McpConnector) -> None:
    connected = await connect.to_command(OFFERING, "untooled")
    assert (await call(connected, "prompts.ask", who="me"))["description"] == "d"


async def test_a_server_that_says_its_resources_changed_is_read_again(connect: McpConnector, tmp_path: Path) -> None:
    heard: list[str] = []
    connect.kind.on_changed = heard.append
    file = tmp_path / "resources"
    file.write_text("one")
    connected = await connect.to_command(OFFERING, "listed", str(file))
    await call(connected, "resources.read", uri="demo://announce")
    await until(lambda: heard)
    assert heard == ["src_1"]


class Listener:
    """What a call hears of its server."""

    actor_id = execution_id = "one"

    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, level: str, text: str) -> None:
        self.lines.append(text)

    warn = log


async def test_a_tool_that_only_runs_as_a_task_is_followed_to_its_end(offering: Connected) -> None:
    listener = Listener()
    LISTENER.set(listener)  # type: ignore[arg-type]  # all that this call needs of one
    assert await offering.call("slow") == "t0 after 3"
    assert listener.lines == ["look 1", "look 2", "look 3"]


async def test_a_task_that_is_given_up_is_cancelled_at_the_server(connect: McpConnector) -> None:
    stuck = await connect.to_command(OFFERING, "stuck")
    listener = Listener()
    LISTENER.set(listener)  # type: ignore[arg-type]  # all that this call needs of one
    under_way = asyncio.create_task(stuck.call("slow"))
    await until(lambda: len(listener.lines) >= 2)
    under_way.cancel()
    await asyncio.gather(under_way, return_exceptions=True)
    assert orjson.loads(await stuck.call("cancelled"))[1] == ["t0"]


@pytest.mark.parametrize(("mode", "code"), [("stuck", "upstream_timeout"), ("forgetful", "upstream_unreachable")])
async def test_a_task_without_an_end_or_a_trace_has_an_unknown_outcome(
    connect_within: Callable[..., McpConnector], mode: str, code: str
) -> None:
    connect = connect_within(total_seconds=10.0)
    try:
        connected = await connect.to_command(OFFERING, mode)
        with pytest.raises(ToolError) as failed:
            await connected.call("slow")
        assert failed.value.tool_code == code and failed.value.tool_details["sent"] is True
    finally:
        await connect.kind.close()
