"""The reference server of npm behind a host: with the official client, and as a source of Executor by its address."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import mcp_types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from executor.network.client import Egress
from executor.sources.mcp.kind import Mcp
from tests.sources.conftest import egress
from tests.sources.mcp.conftest import LIMITS, McpConnector, server_of_npm
from tests.support.conditions import until
from tests.support.packages import node
from tests.surfaces.mcp.host.conftest import HEADERS, Hosted, hosting

__all__ = ["egress"]


@pytest.fixture
async def everything() -> AsyncIterator[Hosted]:
    async with hosting(node(), server_of_npm("server-everything"), "stdio") as host:
        yield host


async def test_the_official_client_sees_everything_that_the_server_sends(everything: Hosted) -> None:
    seen: list[Any] = []
    reached: list[float] = []

    async def elicit(context: Any, params: Any) -> mcp_types.ElicitResult:
        return mcp_types.ElicitResult(action="accept", content={"name": "Ada"})

    async def sample(context: Any, params: Any) -> mcp_types.CreateMessageResult:
        text = mcp_types.TextContent(type="text", text="sampled by the client")
        return mcp_types.CreateMessageResult(role="assistant", content=text, model="m")

    async def hear(message: Any) -> None:
        seen.append(type(message).__name__)

    async def note_progress(progress: float, total: float | None, message: str | None) -> None:
        reached.append(progress)

    async with httpx2.AsyncClient(headers=HEADERS, timeout=240, trust_env=False) as http:
        transport = streamable_http_client(everything.url, http_client=http)
        async with Client(
            transport, elicitation_callback=elicit, sampling_callback=sample, message_handler=hear
        ) as client:
            asked = await client.call_tool("trigger-elicitation-request", {})
            assert "Ada" in str(asked.content)
            sampled = await client.call_tool("trigger-sampling-request", {"prompt": "x", "maxTokens": 5})
            assert "sampled by the client" in str(sampled.content)
            await client.call_tool(
                "trigger-long-running-operation", {"duration": 0.1, "steps": 3}, progress_callback=note_progress
            )
            assert reached == [1, 2, 3]
            await until(lambda: "ToolListChangedNotification" in seen)
    await until(lambda: "session 1 ended" in everything.reports)


async def test_executor_connects_and_calls_it_by_its_address_and_token(
    everything: Hosted, tmp_path: Path, egress: Egress
) -> None:
    kind = Mcp(egress, tmp_path, limits=LIMITS)
    headers = (("Authorization", HEADERS["Authorization"]),)
    connected = await McpConnector(kind).to_url(everything.url, headers=headers)
    assert connected.loaded.name == "Everything Reference Server"
    assert await connected.call("echo", message="hällo") == "Echo: hällo"
    await kind.close()
    await until(lambda: any(line.startswith("session") and line.endswith("ended") for line in everything.reports))
