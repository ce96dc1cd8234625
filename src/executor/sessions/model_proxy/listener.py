"""The sockets of one session: a Unix socket that only one user may connect to, and loopback if that was asked for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web

from executor.sessions.model_proxy.wire.headers import Pairs
from executor.sessions.private_socket import bind_private, is_from

BACKLOG = 128
STOP_SECONDS = 0.5
WRITE_SECONDS = 120.0  # an agent that reads nothing for so long is taken to have left
KEEP_ALIVE_SECONDS = 75.0
LINGER_SECONDS = 1.0  # for the rest of a body that was refused

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Listener:
    def __init__(self, folder: Path, handler: Handler, peer_uid: int | None = None) -> None:
        self.path = folder / "model.sock"
        self._peer_uid = os.geteuid() if peer_uid is None else peer_uid
        self._handler = handler
        self._server = web.Server(
            self._handle,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=KEEP_ALIVE_SECONDS,
            lingering_time=LINGER_SECONDS,
        )
        self._sockets: list[asyncio.Server] = []
        self.loopback = ""

    async def start(self) -> None:
        bound = bind_private(self.path, self._peer_uid)
        loop = asyncio.get_running_loop()
        self._sockets.append(await loop.create_unix_server(self._server, sock=bound, backlog=BACKLOG))

    async def listen_on_loopback(self) -> str:
        """The origin. Any process of this machine can connect there, so the virtual key alone decides."""
        if not self.loopback:
            server = await asyncio.get_running_loop().create_server(self._server, "127.0.0.1", 0, backlog=BACKLOG)
            self._sockets.append(server)
            self.loopback = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return self.loopback

    async def close(self) -> None:
        """At once; what was sent to a provider is still read to its end."""
        for server in self._sockets:
            server.close()
        self.path.unlink(missing_ok=True)
        self._server.pre_shutdown()
        await self._server.shutdown(STOP_SECONDS)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        transport = request.transport
        connected = transport.get_extra_info("socket") if transport is not None else None
        if not is_from(connected, self._peer_uid):
            return web.Response(status=403, text="this socket belongs to another user\n")
        return await self._handler(request)


class AgentDelivery:
    """An answer on its way to an agent that may leave, or read slowly: what it does not take holds the provider up."""

    def __init__(self, request: web.BaseRequest) -> None:
        self._request = request
        self.response = web.StreamResponse()
        self.has_begun = False
        self.is_gone = False

    async def begin(self, status: int, headers: Pairs) -> None:
        self.response.set_status(status)
        for name, value in headers:
            self.response.headers.add(name, value)
        self.has_begun = True
        await self._try(lambda: self.response.prepare(self._request))

    async def write(self, chunk: bytes) -> None:
        if chunk:
            await self._try(lambda: self.response.write(chunk))

    async def end(self) -> None:
        await self._try(self.response.write_eof)

    async def _try(self, act: Callable[[], Awaitable[object]]) -> None:
        if self.is_gone:
            return
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                await act()
        except (ConnectionError, TimeoutError):
            self.abort()

    def abort(self) -> None:
        self.is_gone = True
        if self._request.transport is not None:
            self._request.transport.abort()
