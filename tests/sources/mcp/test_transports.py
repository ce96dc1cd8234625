"""Against servers made with the official SDK, over each transport."""

from __future__ import annotations

import asyncio
import socket

import pytest

from executor.errors import ToolError
from tests.sources.mcp.conftest import REAL, Connected, McpConnector, serving
from tests.support.conditions import until

TRANSPORTS = ["http", "sse", "stdio"]


@pytest.fixture(params=TRANSPORTS)
async def connected(request: pytest.FixtureRequest, connect: McpConnector) -> Connected:
    if request.param == "stdio":
        return await connect.to_command(REAL, "stdio")
    return await connect.to_url(request.getfixturevalue(f"{request.param}_server"))


async def test_a_server_is_found_read_and_called_over_every_transport(connected: Connected) -> None:
    assert connected.loaded.name == "Real example server" and connected.loaded.namespace == "real"
    assert connected.tools["add"].path == "real.add" and connected.tools["add"].description == "Add two numbers."
    assert await connected.call("add", a=1, b=2) == 3
    assert await connected.call("greet", name="Ada") == "hello Ada"
    person = {"name": "Ada", "home": {"street": "Main", "city": "London"}, "friends": []}
    assert await connected.call("introduce", person=person) == person
    assert (await connected.call("picture"))["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image", "mimeType": "image/png", "base64": "iVBORw=="},
    ]
    with pytest.raises(ToolError, match="Error executing tool fail") as failed:
        await connected.call("fail", reason="because")
    assert failed.value.tool_code == "upstream_error"


async def test_calls_share_one_session_also_when_they_are_made_at_the_same_time(connected: Connected) -> None:
    counts = await asyncio.gather(*(connected.call("count") for _ in range(20)))
    assert sorted(counts, key=int) == [str(number) for number in range(1, 21)]


async def test_an_elicitation_without_an_execution_is_refused_and_the_call_continues(connected: Connected) -> None:
    assert (await connected.call("ask")).startswith("declined")


async def test_what_a_tool_says_about_itself_never_makes_it_a_read(connected: Connected) -> None:
    tools = connected.tools
    assert tools["add"].effect == "destructive"
    assert tools["peek"].effect == "write" and tools["peek"].binding["annotations"] == {"readOnlyHint": True}
    assert tools["append"].effect == "write" and not tools["append"].idempotent


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_news_of_changed_tools_and_a_vanished_tool_reach_the_hook(transport: str, connect: McpConnector) -> None:
    heard: list[str] = []
    connect.kind.on_changed = heard.append
    with serving(transport if transport != "stdio" else "http") as url:
        going = connect.to_command(REAL, "stdio") if transport == "stdio" else connect.to_url(url)
        connected = await going
        assert await connected.call("change") == "changed"
        await until(lambda: heard == ["src_1"])
        with pytest.raises(ToolError) as gone:
            await connected.call("greet", name="Ada")
        assert gone.value.tool_code == "unknown_tool"
        again = await connect.kind.load(connect.kind.reload_request(connected.source))
        assert {"wave", "add"} <= {tool.binding["operation"] for tool in again.tools}
        await connect.kind.close()


async def test_an_answer_that_is_too_large_ends_the_call_and_the_next_one_works(connected: Connected) -> None:
    with pytest.raises(ToolError) as large:
        await connected.call("big", size=5_000_000)
    assert large.value.tool_code == "result_too_large" and large.value.tool_details == {"sent": True}
    assert await connected.call("greet", name="Ada") == "hello Ada"


def accepts(url: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(url.rpartition(":")[2]))) == 0


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_server_that_dies_and_comes_back_is_connected_to_again(transport: str, connect: McpConnector) -> None:
    with serving(transport) as url:
        connected = await connect.to_url(url)
        with pytest.raises(ToolError) as died:
            await connected.call("crash")
        assert died.value.tool_code == "upstream_unreachable" and died.value.tool_details == {"sent": True}
        assert not died.value.retryable
        await until(lambda: not accepts(url))
        with pytest.raises(ToolError) as away:
            await connected.call("add", a=1, b=2)
        assert away.value.tool_code == "upstream_unreachable"
        # Over SSE a connection that has just died may still take the message, so nobody can say it wasn't sent.
        assert transport == "sse" or away.value.tool_details == {"sent": False}
    with serving(transport, url.rpartition(":")[2]):
        assert await connected.call("add", a=1, b=2) == 3
        await connect.kind.close()
