from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from executor.daemon.server import port as ports
from executor.daemon.server.http_server import Listening
from executor.sources.mcp.transports.endpoint import of_command
from executor.surfaces.mcp.host.guard import Access, HostGuard
from executor.surfaces.mcp.host.host import HostLimits, McpHost

SCRIPTED = (sys.executable, "-I", "-S", str(Path(__file__).with_name("scripted.py")))
TOKEN = "exh_" + "t" * 43
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}


@dataclass
class Hosted:
    app: McpHost
    url: str
    reports: list[str]
    http: httpx2.AsyncClient
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    async def post(self, message: Any, session: str = "", **more: Any) -> httpx2.Response:
        headers = {"Mcp-Session-Id": session} if session else {}
        given = {"content": message} if isinstance(message, bytes) else {"json": message}
        if isinstance(message, bytes):
            headers["Content-Type"] = "application/json"
        return await self.http.post(self.url, headers={**headers, **more}, **given)

    async def open(self) -> str:
        """A session that is initialized."""
        answer = await self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
        assert answer.status_code == 200, answer.text
        return answer.headers["Mcp-Session-Id"]

    async def do(self, session: str, what: str, **params: Any) -> Any:
        """Its result."""
        answer = await self.ask(session, what, **params)
        assert answer.status_code == 200, answer.text
        return messages_of(answer)[-1]["result"]

    async def ask(self, session: str, what: str, **params: Any) -> httpx2.Response:
        number = next(self.numbers)
        return await self.post({"jsonrpc": "2.0", "id": number, "method": f"do/{what}", "params": params}, session)

    async def listen(self, session: str, heard: list[Any], opened: asyncio.Event) -> None:
        async with self.http.stream("GET", self.url, headers={"Mcp-Session-Id": session}) as stream:
            assert stream.status_code == 200
            async for line in stream.aiter_lines():
                opened.set()
                if line.startswith("data: "):
                    heard.append(json_of(line))


def json_of(line: str) -> Any:
    import json

    return json.loads(line.removeprefix("data: "))


def messages_of(answer: httpx2.Response) -> list[Any]:
    if answer.headers["content-type"] == "application/json":
        return [answer.json()]
    return [json_of(line) for line in answer.text.splitlines() if line.startswith("data: ")]


Host = Callable[..., AbstractAsyncContextManager[Hosted]]


@asynccontextmanager
async def hosting(*command: str, token: str | None = TOKEN, env: Any = None, **limits: Any) -> AsyncIterator[Hosted]:
    reports: list[str] = []
    host = McpHost(of_command(command or SCRIPTED, {"env": env}), HostLimits(**limits), reports.append)
    with ports.bind("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        listening = Listening(HostGuard(host, Access("127.0.0.1", token)), listener, asyncio.Event())
        try:
            async with httpx2.AsyncClient(headers=HEADERS, timeout=120, trust_env=False) as http:
                yield Hosted(host, url, reports, http)
        finally:
            await listening.stop()


@pytest.fixture
async def host() -> AsyncIterator[Hosted]:
    async with hosting() as found:
        yield found
