"""The HTTP server on the daemon's socket, while the daemon comes up, lives and goes down."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Set
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

import uvicorn

from executor.daemon.patience import PATIENCE, Patience
from executor.daemon.protocol import BoundedProtocol

if TYPE_CHECKING:
    from executor.daemon.executor import Executor


class Surfaces(Protocol):
    """An ASGI application that answers what it can at once, and the rest when `load` has given it the executor.

    `release` ends live streams and long waits, so that the server need not wait for them when it stops.
    """

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...

    async def load(self, executor: Executor) -> None: ...

    def release(self) -> None: ...

    async def close(self) -> None: ...


class Server(uvicorn.Server):
    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()  # the daemon's own are in place since before


class Listening:
    """Sets `ended` if the server ends by itself; `stop` then raises why."""

    def __init__(
        self, surfaces: Surfaces, listener: socket.socket, ended: asyncio.Event, patience: float = PATIENCE
    ) -> None:
        self._surfaces = surfaces
        self._server = Server(configuration(surfaces))
        self._watching = asyncio.create_task(Patience(self.connections, patience).watch())
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]))
        self._serving.add_done_callback(lambda _: ended.set())

    @property
    def connections(self) -> Set[Any]:
        return self._server.server_state.connections

    async def stop(self) -> None:
        self._watching.cancel()
        self._surfaces.release()
        self._server.should_exit = True
        await self._serving
        await drop(self.connections)
        await self._surfaces.close()


async def drop(connections: Set[Any]) -> None:
    """What the server did not wait for any longer."""
    for connection in list(connections):
        connection.transport.abort()
    await asyncio.sleep(0)


def configuration(surfaces: Surfaces) -> uvicorn.Config:
    return uvicorn.Config(
        surfaces,
        http=BoundedProtocol,
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,  # else whoever asks could choose the address that the audit records
        server_header=False,
        timeout_graceful_shutdown=2,
        timeout_keep_alive=60,
        ws="none",
        lifespan="off",
    )
