"""The cost of `return 1+1` over each way to the daemon, by turns, and the tokens that an MCP client reads first.

CPU is that of the client, the daemon and its sandbox workers; a second row has the daemon and its workers alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal

from benchmarks import official, processes
from benchmarks.describe import count
from benchmarks.measures import Rows, milliseconds
from benchmarks.ours import Ours
from benchmarks.series import Series
from benchmarks.wire import Http, WireError, value_of
from executor import Executor

CODE = "return 1+1"
TURNS = 4
SIZES = (20, 10_000)
FOR_CLIENTS = ("annotations", "_meta", "title")  # which a client does not show its model
Operation = Callable[[], object]


def measure(folder: Path, *, quick: bool, say: Callable[[str], None]) -> Rows:
    folder.mkdir(parents=True, exist_ok=True)
    subject, rows = Ours(folder), Rows()
    subject.start()
    try:
        with ExitStack() as stack:
            ways = open_roads(subject, stack)
            for turn in range(TURNS):
                say(f"roads: turn {turn + 1} of {TURNS}")
                for label, operation in ways.items():
                    amount = (2 if quick else 5) if label == "CLI" else (20 if quick else 100)
                    take_turn(rows, label, operation, amount, subject.pid if "embedded" not in label else None)
        rows |= measure_tokens(subject, say)
    finally:
        subject.stop()
    return rows


def take_turn(rows: Rows, label: str, operation: Operation, amount: int, daemon: int | None) -> None:
    operation()
    all_before, before = processes.cpu_seconds(os.getpid()), processes.cpu_seconds(daemon) if daemon else 0.0
    samples = [milliseconds(operation) for _ in range(amount)]
    after, all_after = processes.cpu_seconds(daemon) if daemon else 0.0, processes.cpu_seconds(os.getpid())
    rows.setdefault(f"1+1, {label}", Series()).extend(Series("ms", samples, (all_after - all_before) * 1000))
    if daemon:
        alone = Series("ms", samples, (after - before) * 1000)
        rows.setdefault(f"1+1, {label}, daemon alone", Series()).extend(alone)


def open_roads(subject: Ours, stack: ExitStack) -> dict[str, Operation]:
    token = (subject.home / "data" / "agent.token").read_text().strip()
    http = Http(subject.base_url, {"Authorization": f"Bearer {token}"})
    minimal = subject.client()
    bridge = stack.enter_context(stdio(subject))
    through = stack.enter_context(Executor(subject.base_url, token))
    embedded = stack.enter_context(Executor.embedded())
    return {
        "HTTP /v1": lambda: expect(http.json("POST", "/v1/executions", {"code": CODE})["result"]),
        "/mcp, minimal client": lambda: subject.execute(minimal, CODE, 2),
        "/mcp, official client": official_client(subject, stack),
        "stdio": lambda: expect(bridge()),
        "SDK through a daemon": lambda: expect(through.run(CODE).result),
        "SDK embedded": lambda: expect(embedded.run(CODE).result),
        "CLI": lambda: expect(json.loads(run_command(subject))),
    }


def expect(value: Any) -> None:
    if value != 2:
        raise WireError(f"`{CODE}` gave {str(value)[:500]}")


def run_command(subject: Ours) -> bytes:
    command = subject.cli("call", CODE)
    return subprocess.run(command, env=subject.environ(subject.home), capture_output=True, check=True).stdout


def official_client(subject: Ours, stack: ExitStack) -> Operation:
    """One client, kept open on a loop in a thread."""
    portal = stack.enter_context(start_blocking_portal())
    client = stack.enter_context(portal.wrap_async_context_manager(official.connected(subject, subject.home)))
    return lambda: portal.call(official.execute, client)


@contextmanager
def stdio(subject: Ours) -> Iterator[Callable[[], Any]]:
    command = subject.cli("mcp")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=subject.environ(subject.home), **pipes) as process:  # type: ignore[call-overload]

        def ask(method: str, params: dict[str, Any]) -> Any:
            message = {"jsonrpc": "2.0", "id": time.monotonic_ns(), "method": method, "params": params}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())["result"]

        about = {"name": "executor-bench", "version": "1"}
        ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about})
        yield lambda: value_of(ask("tools/call", {"name": "execute", "arguments": {"code": CODE}}))
        process.stdin.close()


def measure_tokens(subject: Ours, say: Callable[[str], None]) -> Rows:
    """Of the tools as a client shows them to its model, and of the instructions, in tokens of o200k."""
    rows: Rows = {}
    for size in SIZES:
        say(f"roads: tokens with {size} tools")
        subject.operator.json("POST", "/v1/sources", {"document": document(size), "namespace": f"made{size}"})
        client = subject.client()
        listed = client.send("tools/list", {})[1]
        client.close()
        tools = json.loads(listed)["result"]["tools"]
        shown = [{key: value for key, value in tool.items() if key not in FOR_CLIENTS} for tool in tools]
        rows[f"tokens of tools/list, {size} tools connected"] = Series("tokens", [count(shown)])
    return rows


def document(size: int) -> str:
    operation = {"summary": "Read one.", "responses": {"200": {"description": "It."}}}
    paths = {f"/things{n}": {"get": {**operation, "operationId": f"getThing{n}"}} for n in range(size)}
    about = {
        "openapi": "3.1.0",
        "info": {"title": "Made up", "version": "1"},
        "servers": [{"url": "http://127.0.0.1:9"}],
    }
    return json.dumps({**about, "paths": paths})
