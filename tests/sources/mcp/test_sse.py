"""The older transport: answers come on one stream that stays open, and it may break at any moment."""

from __future__ import annotations

import asyncio
import json
import queue
from typing import Any

import pytest

from executor.errors import ToolError
from tests.sources.mcp.conftest import Connected, McpConnector
from tests.sources.upstream import Got, Handler, Reply, Upstream
from tests.support.conditions import until


class Streams:
    """Speaks the protocol by hand. Of each stream that was opened `lines` holds what is to be said on it."""

    def __init__(self, upstream: Upstream) -> None:
        self.lines: list[queue.Queue[bytes]] = []
        self.calls: list[int] = []  # the stream that each call came for
        self.is_mute = False
        upstream.routes |= {"/sse": self.stream, "/messages": self.take}

    def stream(self, got: Got, handler: Handler) -> Reply | None:
        if got.method != "GET":
            return Reply(405)
        lines: queue.Queue[bytes] = queue.Queue()
        lines.put(f"event: endpoint\ndata: /messages?stream={len(self.lines)}\n\n".encode())
        self.lines.append(lines)
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        while line := lines.get(timeout=60):
            handler.wfile.write(line)
        return None

    def take(self, got: Got, handler: Handler) -> Reply:
        number = int(got.target.rpartition("=")[2])
        message = got.json
        result = self.result_of(message.get("method"), number)
        if "id" in message and result is not None:
            self.say(number, {"jsonrpc": "2.0", "id": message["id"], "result": result})
        return Reply(202)

    def result_of(self, method: str, number: int) -> dict[str, Any] | None:
        if method == "initialize":
            info = {"name": "streams", "version": "1"}
            return {"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}, "serverInfo": info}
        if method == "tools/list":
            return {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}
        if method != "tools/call":
            return None
        self.calls.append(number)
        return None if self.is_mute else {"content": [{"type": "text", "text": f"by stream {number}"}]}

    def say(self, number: int, message: dict[str, Any]) -> None:
        self.lines[number].put(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")

    def close(self) -> None:
        for lines in self.lines:
            lines.put(b"")


@pytest.fixture
def streams(upstream: Upstream) -> Any:
    made = Streams(upstream)
    yield made
    made.close()


@pytest.fixture
async def connected(connect: McpConnector, upstream: Upstream, streams: Streams) -> Connected:
    return await connect.to_url(f"{upstream.url}/sse", options={"transport": "sse"})


async def test_a_stream_that_ends_between_calls_is_opened_again_and_the_call_made_once(
    connected: Connected, streams: Streams
) -> None:
    assert await connected.call("work") == "by stream 0"
    session = await connected.kind._link_of(connected.source).connect()
    streams.lines[0].put(b"")
    await until(lambda: not session.is_open)
    assert await connected.call("work") == "by stream 1"
    assert streams.calls == [0, 1] and len(streams.lines) == 2


async def test_a_stream_that_ends_in_the_middle_of_a_call_is_not_asked_again(
    connected: Connected, streams: Streams
) -> None:
    streams.is_mute = True
    waiting = asyncio.create_task(connected.call("work"))
    await until(lambda: streams.calls == [0])
    streams.lines[0].put(b"")
    with pytest.raises(ToolError) as cut:
        await waiting
    assert cut.value.tool_code == "upstream_unreachable" and cut.value.tool_details == {"sent": True}
    assert not cut.value.retryable
    streams.is_mute = False
    assert await connected.call("work") == "by stream 1" and streams.calls == [0, 1]


async def test_calls_that_come_while_the_stream_is_away_open_one_stream_for_all(
    connected: Connected, streams: Streams
) -> None:
    session = await connected.kind._link_of(connected.source).connect()
    streams.lines[0].put(b"")
    await until(lambda: not session.is_open)
    assert await asyncio.gather(*(connected.call("work") for _ in range(10))) == ["by stream 1"] * 10
    assert len(streams.lines) == 2 and streams.calls == [1] * 10


async def test_news_of_changed_tools_still_arrive_on_the_stream_that_was_opened_again(
    connected: Connected, streams: Streams
) -> None:
    heard: list[str] = []
    connected.kind.on_changed = heard.append
    session = await connected.kind._link_of(connected.source).connect()
    streams.lines[0].put(b"")
    await until(lambda: not session.is_open)
    assert await connected.call("work") == "by stream 1"
    streams.say(1, {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    await until(lambda: heard == ["src_1"])
