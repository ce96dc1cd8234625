"""Against the protocol's reference server from npm, over each transport."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import Any

import jsonschema_rs
import orjson
import psutil
import pytest

from executor.errors import ToolError
from tests.sources.mcp.conftest import Connected, McpConnector, everything, server_of_npm
from tests.support.conditions import until
from tests.support.packages import node

TRANSPORTS = ["http", "sse", "stdio"]
PNG = "iVBORw0KGgo"


@pytest.fixture(scope="module")
def addresses() -> Any:
    with everything("http") as http, everything("sse") as sse:
        yield {"http": http, "sse": sse}


@pytest.fixture(params=TRANSPORTS)
async def connected(request: pytest.FixtureRequest, connect: McpConnector) -> Connected:
    if request.param == "stdio":
        return await start_server(connect)
    return await connect.to_url(request.getfixturevalue("addresses")[request.param])


async def start_server(connect: McpConnector) -> Connected:
    return await connect.to_line(node(), server_of_npm("server-everything"), "stdio")


async def test_every_tool_is_listed_or_left_out_with_its_reason(connected: Connected) -> None:
    assert connected.loaded.name == "Everything Reference Server" and connected.loaded.namespace == "everything"
    assert {"echo", "get-sum", "get-tiny-image", "get-structured-content", "get-env"} <= set(connected.tools)
    assert connected.tools["get-sum"].path == "everything.get_sum"
    assert connected.tools["simulate-research-query"].binding["task"] and not connected.loaded.skipped
    for tool in connected.loaded.tools:
        jsonschema_rs.validator_for(tool.input_schema)


async def test_annotations_are_recorded_and_make_no_tool_a_read(connected: Connected) -> None:
    assert connected.tools["echo"].binding["annotations"]["readOnlyHint"] is True
    assert connected.tools["echo"].binding["annotations"]["idempotentHint"] is True
    assert {tool.effect for tool in connected.loaded.tools if tool.path.count(".") == 1} == {"write"}
    assert not any(tool.idempotent for tool in connected.loaded.tools)


async def test_structured_content_is_the_result_and_as_its_schema_says(connected: Connected) -> None:
    weather = await connected.call("get-structured-content", location="New York")
    schema = connected.tools["get-structured-content"].output_schema
    assert schema is not None and set(weather) == {"temperature", "conditions", "humidity"}
    assert jsonschema_rs.is_valid(schema, weather)


async def test_each_kind_of_content_block_comes_through(connected: Connected) -> None:
    assert await connected.call("echo", message="hällo \U0001f44b") == "Echo: hällo \U0001f44b"
    _, image, _ = (await connected.call("get-tiny-image"))["content"]
    assert image["type"] == "image" and image["mimeType"] == "image/png" and image["base64"].startswith(PNG)
    _, text, _ = (await connected.call("get-resource-reference", resourceType="Text", resourceId=1))["content"]
    assert (text["type"], text["uri"]) == ("resource", "demo://resource/dynamic/text/1")
    assert text["text"].startswith("Resource 1")
    _, blob, _ = (await connected.call("get-resource-reference", resourceType="Blob", resourceId=2))["content"]
    assert blob["type"] == "resource" and blob["base64"] and "text" not in blob
    _, *links = (await connected.call("get-resource-links", count=3))["content"]
    assert [link["type"] for link in links] == ["resource_link"] * 3 and all(link["uri"] for link in links)
    annotated = await connected.call("get-annotated-message", messageType="error", includeImage=True)
    assert [block["type"] for block in annotated["content"]] == ["text", "image"]


async def test_an_error_of_a_tool_is_a_typed_error(connected: Connected) -> None:
    with pytest.raises(ToolError) as failed:
        await connected.call("get-resource-reference", resourceType="Text", resourceId=-1)
    assert failed.value.tool_code == "upstream_error" and "resourceId" in str(failed.value.to_dict())


async def test_progress_of_a_long_call_does_not_hold_up_others(connected: Connected) -> None:
    long = asyncio.create_task(connected.call("trigger-long-running-operation", duration=300, steps=1500))
    said = await asyncio.gather(*(connected.call("echo", message=str(number)) for number in range(20)))
    assert said == [f"Echo: {number}" for number in range(20)] and not long.done()
    long.cancel()
    short = await connected.call("trigger-long-running-operation", duration=1, steps=5)
    assert short.startswith("Long running operation completed")


async def test_a_command_sees_nothing_of_the_daemons_environment(
    connect: McpConnector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_DAEMON", "s3cret")
    connected = await start_server(connect)
    seen = orjson.loads(await connected.call("get-env"))
    assert set(seen) <= {"PATH", "HOME", "LANG"}


def servers() -> set[int]:
    """Those that were started by a source."""
    found = set()
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            wanted = [server_of_npm("server-everything"), "stdio"]
            if one.status() != psutil.STATUS_ZOMBIE and one.cmdline()[1:] == wanted:
                found.add(one.pid)
    return found


async def test_a_command_killed_between_calls_is_started_again(connect: McpConnector) -> None:
    connected = await start_server(connect)
    (before,) = servers()
    os.kill(before, signal.SIGKILL)
    with suppress(psutil.NoSuchProcess):  # it was buried already; in any case, nothing here has heard of it yet
        psutil.Process(before).wait(60)  # the loop must not run meanwhile
    assert await connected.call("echo", message="again") == "Echo: again"
    assert before not in servers() and len(servers()) == 1


async def test_a_call_whose_command_is_killed_meanwhile_is_not_made_again(connect: McpConnector) -> None:
    connected = await start_server(connect)
    (before,) = servers()
    written = asyncio.create_task(connected.call("trigger-long-running-operation", duration=60, steps=1))
    assert await connected.call("echo", message="after it") == "Echo: after it"  # so the first one has arrived
    os.kill(before, signal.SIGKILL)
    with pytest.raises(ToolError) as lost:
        await written
    assert lost.value.tool_code == "upstream_unreachable" and lost.value.tool_details == {"sent": True}
    assert not lost.value.retryable and "check before you repeat it" in lost.value.hint
    assert not servers()  # nothing was started to send it anew
    assert await connected.call("echo", message="next") == "Echo: next"


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_server_started_again_does_not_know_the_session_and_the_call_is_made_once(
    transport: str, connect: McpConnector
) -> None:
    with everything(transport) as url:
        connected = await connect.to_url(url)
        assert await connected.call("echo", message="one") == "Echo: one"
    link = connect.kind._link_of(connected.source)
    session = await link.connect()
    if transport == "sse":  # its one stream tells that the server is gone
        await until(lambda: not session.is_open)
    with everything(transport, url.split(":")[2].partition("/")[0]):
        assert await connected.call("echo", message="two") == "Echo: two"
        assert await link.connect() is not session
        await connect.kind.close()
