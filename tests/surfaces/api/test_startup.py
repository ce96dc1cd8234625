"""The daemon before everything is loaded: what is answered at once, what waits, and that the door stands already."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from executor.daemon.server.http_server import Listening
from executor.daemon.wiring.executor import Executor
from executor.identity.local_tokens import Tokens
from executor.settings import Settings
from executor.surfaces.app import App
from tests.support.conditions import wait_for
from tests.support.tool_results import value_of

EXECUTE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "execute", "arguments": {"code": "return 1 + 1"}},
}
UNNEEDED = (
    *("mcp", "mcp_types", "fastapi", "alembic", "aiohttp", "jsonschema_rs", "sqlalchemy.dialects.postgresql"),
    "executor.catalog.declarations.loader",
    "executor.checking.checker",
    "executor.daemon.wiring.issuers",
    "executor.execution.configuration.application",
    "executor.sources.lifecycle.lifecycle",
    "executor.sources.lifecycle.persistence",
    "executor.storage.sessions.model_keys",
)
MCP = {"Accept": "application/json", "MCP-Protocol-Version": "2025-11-25"}


@dataclass
class Served:
    settings: Settings
    tokens: Tokens
    front: App

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        return await asyncio.to_thread(self._ask, method, path, body, headers)

    async def ask_as_operator(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        return await self.ask(method, path, body, Authorization=f"Bearer {self.tokens.operator}", **headers)

    def _ask(self, method: str, path: str, body: Any, headers: dict[str, str]) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.settings.port, timeout=60)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json", **headers})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Served]:
    """The server listens; the executor is not open yet."""
    listener = socket.create_server(("127.0.0.1", 0))
    environment = {"EXECUTOR_DATA_DIR": str(tmp_path), "EXECUTOR_CONFIG": str(tmp_path / "config.toml")}
    (tmp_path / "config.toml").touch()
    settings = replace(Settings.load(environment), port=listener.getsockname()[1], workers=1)
    settings.state_dir.mkdir(parents=True, exist_ok=True)
    server = Served(settings, Tokens.load_or_create(tmp_path), App(settings, Tokens.load_or_create(tmp_path)))
    listening = Listening(server.front, listener, asyncio.Event())
    yield server
    await listening.stop()


@asynccontextmanager
async def open_executor(settings: Settings) -> AsyncIterator[Executor]:
    executor = await Executor.open(settings)
    try:
        yield executor
    finally:
        await executor.close()


async def waiting_requests(front: App, count: int) -> None:
    await asyncio.to_thread(wait_for, lambda: len(front._held._waits) >= count)


async def test_it_says_that_it_answers_before_anything_is_loaded(server: Served) -> None:
    assert await server.ask("GET", "/healthz") == (200, {"ok": True})


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/nothing"), ("GET", "/v1/status"), ("POST", "/mcp")])
async def test_the_door_stands_before_anything_is_loaded(server: Served, method: str, path: str) -> None:
    refused: list[tuple[Callable[..., Awaitable[tuple[int, Any]]], dict[str, str], int]] = [
        (server.ask, {}, 401),
        (server.ask, {"Authorization": "Bearer exo_wrong"}, 401),
        (server.ask_as_operator, {"Host": "evil.example"}, 421),
        (server.ask_as_operator, {"Origin": "http://evil.example"}, 403),
    ]
    for ask, headers, status in refused:
        assert (await ask(method, path, {} if method == "POST" else None, **headers))[0] == status, headers


async def test_a_request_waits_for_the_part_it_needs(server: Served) -> None:
    calling = asyncio.create_task(server.ask_as_operator("POST", "/mcp", EXECUTE, **MCP))
    looking = asyncio.create_task(server.ask_as_operator("GET", "/v1/status"))
    await waiting_requests(server.front, 2)
    assert not calling.done()
    async with open_executor(server.settings) as executor:
        await server.front.load(executor)
        status, answer = await calling
        assert (status, value_of(answer["result"])) == (200, 2)
        status, answer = await looking
        assert (status, answer["workspace"]["id"]) == (200, executor.tenancy.workspace.id)


async def test_requests_that_wait_are_let_go_when_it_stops_before_it_is_loaded(server: Served) -> None:
    waiting = asyncio.create_task(server.ask_as_operator("GET", "/v1/status"))
    await waiting_requests(server.front, 1)
    server.front.release()
    status, problem = await waiting
    assert (status, problem["code"]) == (503, "busy")


def test_a_session_of_plain_requests_imports_only_what_it_needs(tmp_path: Path) -> None:
    """In a process of its own, since this one has imported both."""
    program = f"""
import asyncio, sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from pathlib import Path
from executor.daemon.wiring import executor as wiring
from executor.daemon.wiring.executor import Executor
from executor.settings import Settings
from executor.identity.local_tokens import Tokens
from executor.surfaces.app import App

async def ask(app, token, body):
    sent = []
    async def receive(): return {{"type": "http.request", "body": body, "more_body": False}}
    async def send(message): sent.append(message)
    headers = [(b"host", b"127.0.0.1:8788"), (b"authorization", b"Bearer " + token.encode())]
    headers += [(b"content-type", b"application/json"), (b"accept", b"application/json")]
    headers += [(b"mcp-protocol-version", b"2025-11-25")]
    scope = {{"type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "headers": headers}}
    scope["server"] = scope["client"] = ("127.0.0.1", 8788)
    await app(scope, receive, send)
    return sent[1]["body"]

async def main():
    wiring.WARM_SECONDS = 3600  # what is imported beside the first calls
    settings = Settings.load({{"EXECUTOR_DATA_DIR": {str(tmp_path / "data")!r}, "EXECUTOR_PORT": "8788"}})
    executor = await Executor.open(settings)
    tokens = Tokens.load_or_create(settings.data_dir)
    app = App(settings, tokens)
    await app.load(executor)
    answer = await ask(app, tokens.agent, {json.dumps(EXECUTE).encode()!r})
    assert b'"text":"2"' in answer, answer
    await app.close()
    await executor.close()

asyncio.run(main())
unneeded = {UNNEEDED!r}
heavy = [name for name in unneeded if name in sys.modules]
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


async def test_sandboxes_do_not_outlive_an_opening_that_failed(tmp_path: Path) -> None:
    import psutil

    from executor.daemon.wiring.runtimes import Sandboxes
    from executor.errors import StorageDamaged

    (tmp_path / "executor.db").write_bytes(b"not a database at all" * 1000)
    settings = replace(Settings.load({"EXECUTOR_DATA_DIR": str(tmp_path)}), workers=1)
    sandboxes = Sandboxes(settings)
    await sandboxes.ready()
    (pid,) = sandboxes.runtime.worker_pids
    with pytest.raises(StorageDamaged):
        await Executor.open(settings, sandboxes=sandboxes)
    assert not psutil.pid_exists(pid)
