"""`kill -9` of the daemon under sixteen MCP clients: each gets an error or a result, none hangs, nothing runs twice."""

from __future__ import annotations

import asyncio
import collections
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

from executor.daemon import control
from executor.settings import Settings
from tests.support.conditions import until, wait_for
from tests.support.daemon import Daemon
from tests.support.ledger import effects, running_ledger

CLIENTS = 16
CALLS = 5
LIMIT = 240
# A charge carries an idempotency key, so it is sent again after a crash; an entry is not, so someone has to decide.
TOOLS = ("charges.charge", "entries.addEntry")
CODE = """
const done = [];
for (let i = 0; i < %d; i++) done.push((await tools.ledger.%s({key: `%s:${i}`})).key);
return done.length;
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "effects"


@pytest.fixture
def daemon(tmp_path: Path, file: Path) -> Iterator[Daemon]:
    with running_ledger(file, milliseconds=50) as address:
        daemon = Daemon(tmp_path)
        run_command(daemon, "up")
        try:
            daemon.add_source({"location": f"{address}/openapi.json", "namespace": "ledger"})
            daemon.post("/v1/policies", {"pattern": "ledger.**", "action": "allow"})
            yield daemon
        finally:
            run_command(daemon, "down")


def run_command(daemon: Daemon, name: str) -> None:
    subprocess.run([sys.executable, "-m", "executor", name], env=daemon.environ, check=True, capture_output=True)


def kill(daemon: Daemon) -> None:
    """And start it again, unless `executor mcp` does so first."""
    settings = Settings.load(daemon.environ)
    pid = control.look(settings).pid
    assert pid
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: control.look(settings).pid != pid, "the end of the daemon")
    run_command(daemon, "up")


@asynccontextmanager
async def connect(daemon: Daemon, number: int) -> AsyncIterator[Client]:
    """Every fourth over stdio, through `executor mcp`; the others over HTTP, in both revisions."""
    token = daemon.token("agent")
    if number % 4 == 3:
        environment = {**daemon.environ, "EXECUTOR_TOKEN": token}
        command = StdioServerParameters(command=sys.executable, args=["-m", "executor", "mcp"], env=environment)
        async with Client(command) as client:
            yield client
        return
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=LIMIT, trust_env=False) as http:
        transport = streamable_http_client(f"{daemon.url}/mcp", http_client=http)
        async with Client(transport, mode="legacy" if number % 4 == 2 else "auto") as client:
            yield client


async def run(daemon: Daemon, number: int) -> str:
    """The text of the answer, or the word `error`."""
    code = CODE % (CALLS, TOOLS[number % 2], f"client{number}")
    try:
        async with asyncio.timeout(LIMIT), connect(daemon, number) as client:
            key = {"executor/idempotencyKey": f"chaos-{number}"}
            answer = await client.call_tool("execute", {"code": code}, meta=key)
    except TimeoutError:
        raise
    except (MCPError, OSError, httpx2.HTTPError, ExceptionGroup):
        return "error"
    [text] = [block.text for block in answer.content if isinstance(block, TextContent)]
    return text


@pytest.mark.chaos
async def test_a_kill_under_sixteen_clients_leaves_none_hanging_and_runs_nothing_twice(
    daemon: Daemon, file: Path
) -> None:
    running = [asyncio.create_task(run(daemon, number)) for number in range(CLIENTS)]
    await until(lambda: len(effects(file)) >= CLIENTS, "every client under way", seconds=LIMIT)
    await asyncio.to_thread(kill, daemon)
    first = await asyncio.gather(*running)
    again = await asyncio.gather(*(run(daemon, number) for number in range(CLIENTS)))
    for number, text in enumerate(again):
        assert text == str(CALLS) or (number % 2 and "unknown_outcome" in text), (number, first[number], text)
    assert any(text != str(CALLS) for text in first)  # the kill met someone
    found = daemon.get("/v1/executions?limit=100")["items"]
    assert len(found) == CLIENTS
    doubled = {key: times for (_, key), times in collections.Counter(effects(file)).items() if times > 1}
    assert doubled == {}
    charged = [key for kind, key in effects(file) if kind == "charge"]
    assert len(charged) == CLIENTS // 2 * CALLS
