"""The ports that lead out of a sandbox: what an agent connects to there is answered here, from one fixed place.

Outside a sandbox the same ports are opened on this machine's loopback.
"""

from __future__ import annotations

import array
import asyncio
import socket
from contextlib import suppress
from dataclasses import dataclass

from executor.errors import IsolationUnavailable

CHUNK = 64 * 1024
MAX_CONNECTIONS = 256
FIRST_PORT = 4701  # inside a sandbox, whose network is its own
FIRST_UNPRIVILEGED, MAX_PORT = 1024, 65536


@dataclass(frozen=True)
class Target:
    """A Unix socket, and the port that it has in a sandbox if that matters."""

    path: str
    port: int = 0


class Relays:
    """By name: "model", "mcp", "egress"."""

    def __init__(self, targets: dict[str, Target], *, inside: bool) -> None:
        self._targets = targets
        self._inside = inside
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()
        self.ports: dict[str, int] = {}

    async def prepare(self) -> None:
        """Afterwards `ports` is known; in a sandbox they are opened later, from inside."""
        if self._inside:
            for name, target in self._targets.items():
                self.ports[name] = self._port_inside(target)
            return
        for name, target in self._targets.items():
            listener = socket.create_server(("127.0.0.1", 0))
            self.ports[name] = listener.getsockname()[1]
            await self._serve(listener, target)

    def _port_inside(self, target: Target) -> int:
        """That of the target, if it has one: the daemon answers only requests that name the port it listens on."""
        if target.port >= FIRST_UNPRIVILEGED and target.port not in self.ports.values():
            return target.port
        taken = {*self.ports.values(), *(other.port for other in self._targets.values())}
        return next(port for port in range(FIRST_PORT, MAX_PORT) if port not in taken)

    def origin(self, name: str) -> str:
        return f"http://127.0.0.1:{self.ports[name]}"

    async def receive(self, entrance: socket.socket) -> None:
        """Takes over the sockets that the entrance of the sandbox opened, and nothing else."""
        entrance.setblocking(False)
        message, descriptors = await _receive_descriptors(entrance, len(self._targets))
        listeners = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        if message != b"ready\n" or len(listeners) != len(self._targets) or not all(map(_listens, listeners)):
            for listener in listeners:
                listener.close()
            raise IsolationUnavailable("the sandbox did not open its ports", hint="run `executor doctor`")
        for listener, target in zip(listeners, self._targets.values(), strict=True):
            await self._serve(listener, target)

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, listener: socket.socket, target: Target) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            if task is None or len(self._connections) >= MAX_CONNECTIONS:
                writer.close()
                return
            self._connections.add(task)
            try:
                await _relay(reader, writer, target)
            finally:
                self._connections.discard(task)

        listener.setblocking(False)
        self._servers.append(await asyncio.start_server(accept, sock=listener))


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: Target) -> None:
    try:
        upstream, out = await asyncio.open_unix_connection(target.path)
    except OSError:
        writer.close()
        return
    try:
        await asyncio.gather(_pump(reader, out), _pump(upstream, writer))
    finally:
        writer.close()
        out.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The end of one direction leaves the other open: an answer may still be under way."""
    with suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def _receive_descriptors(entrance: socket.socket, count: int) -> tuple[bytes, list[int]]:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(entrance, _settle, ready)
    try:
        async with asyncio.timeout(30):
            await ready
    except TimeoutError:
        return b"", []
    finally:
        loop.remove_reader(entrance)
    try:
        message, ancillary, _, _ = entrance.recvmsg(64, socket.CMSG_SPACE(4 * max(count, 1)), socket.MSG_CMSG_CLOEXEC)
    except OSError:
        return b"", []
    found = array.array("i")
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(content[: len(content) - len(content) % found.itemsize])
    return message, list(found)


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


def _listens(candidate: socket.socket) -> bool:
    return (
        candidate.family == socket.AF_INET
        and candidate.type == socket.SOCK_STREAM
        and bool(candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    )
