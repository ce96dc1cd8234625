"""The official SDK's client, which takes the newest revision that the other side offers.

The minimal client of `wire` speaks one fixed revision. A server may serve revisions on roads of different cost, so the
figures of one client alone would not tell what another one sees.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from benchmarks import processes
from benchmarks.series import Series
from benchmarks.subject import Subject
from benchmarks.wire import WireError, value_of


@asynccontextmanager
async def connected(subject: Subject, home: Path) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=dict(subject.headers(home)), timeout=300) as http,
        Client(streamable_http_client(f"{subject.base_url}/mcp", http_client=http)) as client,
    ):
        yield client


async def execute(client: Client) -> None:
    answer = (await client.call_tool("execute", {"code": "return 1+1"})).model_dump(by_alias=True)
    if value_of(answer) != 2:
        raise WireError(f"`return 1+1` gave {answer}")


async def sequence(subject: Subject, amount: int) -> Series:
    async with connected(subject, subject.home) as client:
        await execute(client)
        series, before = Series("ms"), processes.cpu_seconds(subject.pid)
        for _ in range(amount):
            start = time.perf_counter()
            await execute(client)
            series.samples.append((time.perf_counter() - start) * 1000)
        series.cpu_ms = (processes.cpu_seconds(subject.pid) - before) * 1000
        return series


def execute_sequentially(subject: Subject, amount: int) -> dict[str, Series]:
    return {"execute 1+1, official MCP client": asyncio.run(sequence(subject, amount))}


def execute_once(subject: Subject, home: Path) -> None:
    async def once() -> None:
        async with connected(subject, home) as client:
            await execute(client)

    asyncio.run(once())
