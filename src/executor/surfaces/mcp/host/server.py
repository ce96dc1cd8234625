"""The life of a host: tries the command, serves until it must stop, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from executor.daemon.server.http_server import Listening
from executor.daemon.server.stop_signals import on_signal
from executor.surfaces.mcp.host.guard import Access, HostGuard
from executor.surfaces.mcp.host.host import McpHost
from executor.surfaces.mcp.host.trial import try_command


async def serve(
    host: McpHost, listener: socket.socket, access: Access, announce: Callable[[str], None], *, check: bool = True
) -> None:
    """`announce` gets what the server calls itself, once requests are answered."""
    stopping = on_signal()
    server = await try_first(host, stopping) if check else ""
    if stopping.is_set():
        return
    listening = Listening(HostGuard(host, access), listener, stopping)
    announce(server)
    await stopping.wait()
    await listening.stop()


async def try_first(host: McpHost, stopping: asyncio.Event) -> str:
    trial = asyncio.create_task(try_command(host.endpoint, host.report))
    stop = asyncio.create_task(stopping.wait())
    await asyncio.wait((trial, stop), return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if not trial.done():
        trial.cancel()
        await asyncio.wait([trial])
        return ""
    return trial.result()
