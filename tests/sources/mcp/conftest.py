from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from executor.model.source import Loaded, Source
from executor.model.tool import Tool
from executor.network.client import Egress
from executor.sources.mcp.kind import Limits, Mcp
from executor.sources.source_request import Consent, SourceRequest
from tests.support.packages import node, npm_modules

SERVERS = Path(__file__).parent / "servers"
REAL, HOSTILE = str(SERVERS / "real.py"), str(SERVERS / "hostile.py")


def server_of_npm(name: str) -> str:
    return str(npm_modules() / "@modelcontextprotocol" / name / "dist" / "index.js")


@contextmanager
def serving(transport: str, port: str = "0") -> Iterator[str]:
    with listening([sys.executable, REAL, transport, port]) as url:
        yield url


@contextmanager
def everything(transport: str, port: str = "0") -> Iterator[str]:
    """The reference server of npm, which would otherwise listen on every interface."""
    words = {"http": "streamableHttp", "sse": "sse"}
    command = [node(), "--require", str(SERVERS / "loopback.cjs"), server_of_npm("server-everything"), words[transport]]
    with listening(command, PORT=port) as url:
        yield f"{url}/{'mcp' if transport == 'http' else 'sse'}"


@contextmanager
def listening(command: list[str], **variables: str) -> Iterator[str]:
    """A process that prints its port first."""
    environ = {**os.environ, **variables}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ)
    try:
        assert process.stdout is not None
        port = process.stdout.readline().decode().strip()
        assert port, "it ended before it listened"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def http_server() -> Iterator[str]:
    with serving("http") as url:
        yield url


@pytest.fixture(scope="module")
def sse_server() -> Iterator[str]:
    with serving("sse") as url:
        yield url


@dataclass
class Connected:
    """A loaded source, and its tools by the server's own names."""

    kind: Mcp
    loaded: Loaded
    source: Source

    @property
    def tools(self) -> dict[str, Tool]:
        return {tool.binding["operation"]: tool for tool in self.loaded.tools}

    async def call(self, name: str, /, **arguments: Any) -> Any:
        return orjson.loads(await self.kind.invoke(self.source, self.tools[name], arguments, "key"))


@dataclass
class McpConnector:
    kind: Mcp

    async def to(self, request: SourceRequest) -> Connected:
        loaded = await self.kind.load(request)
        source = Source("src_1", "ws_1", "mcp", loaded.namespace, loaded.name, loaded.config)
        return Connected(self.kind, loaded, source)

    async def to_command(self, *command: str, **options: Any) -> Connected:
        return await self.to_line(sys.executable, *command, **options)

    async def to_line(self, *line: str, **options: Any) -> Connected:
        return await self.to(
            SourceRequest(
                kind="mcp", command=line, options=options, consented=Consent(runs_code=True, by_operator=True)
            )
        )

    async def to_url(self, url: str, **more: Any) -> Connected:
        return await self.to(SourceRequest(kind="mcp", location=url, consented=Consent(private_network=True), **more))


LIMITS = Limits(call_seconds=90.0, list_seconds=90.0, open_seconds=90.0, start_seconds=90.0, answer_bytes=2_000_000)


@pytest.fixture
async def kind(tmp_path: Path, egress: Egress) -> AsyncIterator[Mcp]:
    made = Mcp(egress, tmp_path, limits=LIMITS)
    yield made
    await made.close()


@pytest.fixture
def connect(kind: Mcp) -> McpConnector:
    return McpConnector(kind)


@pytest.fixture
def connect_within(tmp_path: Path, egress: Egress) -> Callable[..., McpConnector]:
    """With limits of the test's own; closed by the test."""
    return lambda **limits: McpConnector(Mcp(egress, tmp_path, limits=Limits(**limits)))
