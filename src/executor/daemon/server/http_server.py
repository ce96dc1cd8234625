"""The HTTP server on the daemon's socket, while the daemon comes up, lives and goes down."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterable, Set
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

import uvicorn

from executor.daemon.server.http_protocol import BoundedProtocol

if TYPE_CHECKING:
    from executor.daemon.wiring.executor import Executor


# Connections that begin a request and never finish it, or never take their answer. They are dropped, or a few hundred
# of them would hold every file descriptor of the daemon. Looked for now and then, so that an ordinary request pays
# nothing.
PATIENCE = 60.0  # seconds for a whole request, or for any byte of an answer to be taken
MAX_SOCKET_MESSAGE = 128 * 1024
HEAD_PATIENCE = 20.0  # seconds for the head of a request, from the first of them on a connection that is silent too


class Patience:
    """Of uvicorn's connections it reads `cycle`, the request that is being answered, and the timer between requests."""

    def __init__(self, connections: Iterable[Any], seconds: float = PATIENCE) -> None:
        self._connections = connections
        self._seconds = seconds
        self._head_seconds = min(seconds, HEAD_PATIENCE)
        self._waiting: WeakKeyDictionary[Any, tuple[Any, float]] = WeakKeyDictionary()

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(self._head_seconds / 4)
            self.look(time.monotonic())

    def look(self, now: float) -> None:
        """Drop what has waited for the rest of the same request, or with the same rest of an answer, for too long."""
        for connection in list(self._connections):
            untaken = connection.transport.get_write_buffer_size()
            if not untaken and not is_unfinished(connection):
                self._waiting.pop(connection, None)
                continue
            state = (connection.cycle, untaken)
            known, since = self._waiting.get(connection, (None, now))
            if known != state:
                self._waiting[connection] = (state, now)
            elif now - since >= (self._seconds if untaken or is_under_way(connection) else self._head_seconds):
                connection.transport.abort()


def is_unfinished(connection: Any) -> bool:
    if is_under_way(connection):
        return bool(connection.cycle.more_body)
    return connection.timeout_keep_alive_task is None


def is_under_way(connection: Any) -> bool:
    """Its head has come."""
    return connection.cycle is not None and not connection.cycle.response_complete


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
    """Sets `ended` if the server stops unexpectedly; `stop` then raises the reason."""

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


def configuration(application: Any) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        http=BoundedProtocol,
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,  # else anyone who asks could choose the address that the audit records
        server_header=False,
        timeout_graceful_shutdown=2,
        timeout_keep_alive=60,
        ws="none",  # the protocol chooses its own, when it is first needed
        ws_max_size=MAX_SOCKET_MESSAGE,
        ws_per_message_deflate=False,
        ws_ping_interval=20,
        ws_ping_timeout=PATIENCE,
        lifespan="off",
    )
