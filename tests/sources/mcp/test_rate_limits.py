"""MCP servers over HTTP that answer "later"."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from executor.errors import ToolError
from executor.model.source import Source
from executor.model.tool import Tool
from executor.network.client import Egress
from executor.sources.mcp.kind import Mcp
from executor.sources.rate_limits import RETRIES, Retries
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json

RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "limited", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "seen"}]},
}


class Server:
    """Refuses the first calls with 429, some with an error of JSON-RPC in the body."""

    def __init__(self, refuse: int, **headers: str) -> None:
        self.refuse, self.headers, self.calls = refuse, headers, 0

    def __call__(self, got: Got, handler: Handler) -> Reply:
        if got.method != "POST":
            return Reply(405)
        message = json.loads(got.body)
        if "id" not in message:
            return Reply(202)
        if message["method"] == "tools/call":
            self.calls += 1
            if self.calls <= self.refuse:
                error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32000, "message": "slow down"}}
                return as_json(error if self.calls % 2 else {}, 429, **self.headers)
        return as_json({"jsonrpc": "2.0", "id": message["id"], "result": RESULTS[message["method"]]})


@pytest.fixture
async def kind() -> AsyncIterator[Mcp]:
    egress = Egress(connect_seconds=60.0)
    found = Mcp(egress)
    yield found
    await found.close()
    await egress.close()


async def load_server(kind: Mcp, upstream: Upstream, server: Server) -> tuple[Source, Tool]:
    upstream.routes["/mcp"] = server
    request = SourceRequest(
        location=f"{upstream.url}/mcp", options={"transport": "http"}, consented=Consent(private_network=True)
    )
    found = await kind.load(request)
    return Source("src", "ws", "mcp", found.namespace, found.name, found.config), found.tools[0]


async def test_what_counts_as_a_read_waits_and_is_sent_again(kind: Mcp, upstream: Upstream) -> None:
    server = Server(2, **{"Retry-After": "0"})
    source, tool = await load_server(kind, upstream, server)
    seen: list[int] = []
    RETRIES.set(Retries(60, lambda: 60, lambda status, seconds, attempt: seen.append(status)))
    assert json.loads(await kind.invoke(source, replace(tool, effect="read"), {}, "")) == "seen"
    assert (server.calls, seen) == (3, [429, 429])


@pytest.mark.parametrize(("headers", "details"), [({"Retry-After": "9"}, {"retryAfter": 9}), ({}, {})])
async def test_anything_else_is_sent_once_and_known_not_to_be_done(
    kind: Mcp, upstream: Upstream, headers: dict[str, str], details: dict[str, Any]
) -> None:
    server = Server(9, **headers)
    source, tool = await load_server(kind, upstream, server)
    RETRIES.set(Retries(60, lambda: 60, lambda status, seconds, attempt: None))
    with pytest.raises(ToolError, match="answered 429") as caught:
        await kind.invoke(source, tool, {}, "")
    error = caught.value
    assert (error.tool_code, error.http_status, error.tool_details, error.retryable) == (
        "upstream_error", 429, details, True,
    )  # fmt: skip
    assert server.calls == 1
