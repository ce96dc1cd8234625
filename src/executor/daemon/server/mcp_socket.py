"""A Unix socket that serves `/mcp` and nothing else: where the relays of sandboxes lead.

What a request asks for is decided where it is parsed, not on the way. So no form of an address, no second request on a
connection and no upgrade leads further. It is opened, and what it needs imported, for the first session in a sandbox.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from executor.daemon.server.http_protocol import BoundedProtocol
from executor.daemon.server.http_server import Patience, configuration, drop
from executor.errors import NotFound
from executor.settings import Settings

if TYPE_CHECKING:
    from executor.sessions.socket_folder import SocketFolder

PATHS = ("/mcp", "/mcp/")
LOOPBACK = "127.0.0.1"
BACKLOG = 128
ELSEWHERE = NotFound("only /mcp can be reached from a sandbox").to_problem()


class PlainProtocol(BoundedProtocol):
    """No WebSockets: a request for one is a request like any other."""

    def _should_upgrade_to_ws(self) -> bool:
        return False


class McpOnly:
    """In a sandbox, `/mcp` has the port of the daemon. So the `Host` that an agent sends is right."""

    def __init__(self, surfaces: ASGIApp, port: int) -> None:
        self._surfaces, self._port = surfaces, port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] in PATHS:
            await self._surfaces({**scope, "server": (LOOPBACK, self._port), "client": (LOOPBACK, 0)}, receive, send)
            return
        body = orjson.dumps(ELSEWHERE)
        await Response(body, ELSEWHERE["status"], media_type="application/problem+json")(scope, receive, send)


class McpSocket:
    def __init__(self, surfaces: ASGIApp, settings: Settings) -> None:
        self._app = McpOnly(surfaces, settings.port)
        self._base = settings.state_dir / "mcp"
        shutil.rmtree(self._base, ignore_errors=True)  # of a daemon that was killed
        self._opening = asyncio.Lock()
        self._state = ServerState()
        self._open: tuple[asyncio.Server, SocketFolder, Path] | None = None
        self._watching: asyncio.Task[None] | None = None

    async def open(self) -> Path:
        async with self._opening:
            if self._open is None:
                self._open = await self._listen()
                self._watching = asyncio.create_task(Patience(self._state.connections).watch())
        return self._open[2]

    async def _listen(self) -> tuple[asyncio.Server, SocketFolder, Path]:
        from executor.sessions.private_socket import bind_private
        from executor.sessions.socket_folder import SocketFolder

        folder = SocketFolder(self._base)
        await asyncio.to_thread(folder.clear)
        path = await asyncio.to_thread(folder.create) / "mcp.sock"
        config = configuration(self._app)
        config.load()

        def begin() -> Any:
            return PlainProtocol(config=config, server_state=self._state, app_state={})

        loop = asyncio.get_running_loop()
        return await loop.create_unix_server(begin, sock=bind_private(path), backlog=BACKLOG), folder, path

    async def close(self) -> None:
        if self._open is None or self._watching is None:
            return
        server, folder, path = self._open
        self._watching.cancel()
        server.close()
        await drop(self._state.connections)
        path.unlink(missing_ok=True)
        path.parent.rmdir()
        await asyncio.to_thread(folder.close)
