"""Calls to MCP servers: over the session that a source keeps open, and with the SDK's own client beside it.

CPU is that of this process, the caller; what the server spends is its own affair and the same for all.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from mcp import Client, StdioServerParameters

from benchmarks import processes
from benchmarks.measures import CLIENTS, Rows
from benchmarks.series import Series
from executor.model.source import Source
from executor.network.client import Egress
from executor.sources.mcp.kind import Mcp
from executor.sources.source_request import Consent, SourceRequest

SERVER = (sys.executable, "-m", "benchmarks.mcp_server")
FOLDER = str(Path(__file__).parents[1])
FRESH_SHARE = 20  # opening a session for each call is slow: it gets one in this many
Call = Callable[[int], Awaitable[str]]


async def measure(amount: int, rounds: int) -> Rows:
    rows: Rows = {}
    with processes.listening([*SERVER, "http"], PYTHONPATH=FOLDER) as address:
        url = f"{address}/mcp"
        spawned = StdioServerParameters(command=SERVER[0], args=[*SERVER[1:], "stdio"], env={"PYTHONPATH": FOLDER})
        over_stdio = SourceRequest(
            kind="mcp",
            command=(*SERVER, "stdio"),
            options={"env": {"PYTHONPATH": FOLDER}},
            consented=Consent(runs_code=True, by_operator=True),
        )
        over_http = SourceRequest(
            kind="mcp", location=url, options={"transport": "http"}, consented=Consent(private_network=True)
        )
        for _ in range(rounds):
            await one_transport(rows, "stdio", over_stdio, spawned, amount)
            await one_transport(rows, "HTTP", over_http, url, amount)
    return rows


async def one_transport(
    rows: Rows, name: str, request: SourceRequest, server: StdioServerParameters | str, amount: int
) -> None:
    label = f"MCP call over {name}"
    egress = Egress()
    kind = Mcp(egress)
    loaded = await kind.load(request)
    source = Source("src", "ws", "mcp", loaded.namespace, loaded.name, loaded.config)
    [tool] = loaded.tools

    async def pooled(number: int) -> str:
        return (await kind.invoke(source, tool, {"id": number}, "")).strip('"')

    async def fresh(number: int) -> str:
        async with Client(server) as client:
            return await called(client, number)

    await sequence(rows, f"{label}, pooled", pooled, amount)
    await at_once(rows, f"{label}, pooled, {CLIENTS} at once, wall time each", pooled, amount)
    await kind.close()
    await egress.close()
    async with Client(server) as client:
        await sequence(rows, f"{label}, SDK client kept open", lambda number: called(client, number), amount)
    await sequence(rows, f"{label}, SDK client opened for each", fresh, max(2, amount // FRESH_SHARE))


async def called(client: Client, number: int) -> str:
    result = await client.call_tool("read", {"id": number})
    return str(getattr(result.content[0], "text", ""))


async def sequence(rows: Rows, label: str, call: Call, amount: int) -> None:
    assert await call(0) == "0"
    series = Series("ms", [], 0)
    for number in range(amount):
        start, cpu = time.perf_counter(), time.process_time()
        assert await call(number) == str(number)
        series.extend(Series("ms", [(time.perf_counter() - start) * 1000], (time.process_time() - cpu) * 1000))
    rows.setdefault(label, Series()).extend(series)


async def at_once(rows: Rows, label: str, call: Call, amount: int) -> None:
    async def several(first: int) -> None:
        for number in range(first, first + amount // 4):
            assert await call(number) == str(number)

    start, cpu, total = time.perf_counter(), time.process_time(), CLIENTS * (amount // 4)
    await asyncio.gather(*(several(1000 * number) for number in range(CLIENTS)))
    spent = (time.process_time() - cpu) * 1000 / total
    rows.setdefault(label, Series()).extend(Series("ms", [(time.perf_counter() - start) * 1000 / total], spent))
