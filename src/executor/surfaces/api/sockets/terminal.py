"""A terminal over a WebSocket. Bytes are output and input; text is JSON about the terminal.

The first message names the ticket, so that nothing secret is in an address. `screen` comes first, and again after a
change of size and after falling behind: then the next bytes draw everything from an empty screen.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import Scope

from executor.errors import ExecutorError, InvalidRequest, Unauthorized
from executor.sessions.terminals.terminal import Terminal, Writing
from executor.sessions.terminals.watcher import Watcher
from executor.surfaces.api.sockets.socket import Socket, problem, read_object

FIRST_SECONDS = 10.0
WRITING: tuple[Writing, ...] = ("no", "if_free", "take_over")


async def serve(socket: Socket, scope: Scope, session_id: str, terminal_id: str) -> None:
    socket.check("prompt", "read")
    await socket.executor.sessions.terminals.find(socket.actor, session_id, terminal_id)
    await socket.accept()
    try:
        terminal, watcher = await _attach(socket, session_id, terminal_id)
    except ExecutorError as error:
        await socket.refuse(error)
        return
    try:
        await socket.run(_show(socket, terminal, watcher), _listen(socket, terminal, watcher))
    finally:
        terminal.detach(watcher)


async def _attach(socket: Socket, session_id: str, terminal_id: str) -> tuple[Terminal, Watcher]:
    try:
        async with asyncio.timeout(FIRST_SECONDS):
            first = await socket.receive()
    except TimeoutError:
        first = None
    if first is None:
        raise Unauthorized("no ticket was sent", hint="send `attach` with a ticket first")
    message = read_object(first)
    ticket, writing = message.get("ticket"), message.get("write", "no")
    if message["type"] != "attach" or not isinstance(ticket, str) or writing not in WRITING:
        raise InvalidRequest("the first message must be `attach` with a `ticket`", hint="see the API reference")
    return await socket.executor.sessions.terminals.attach(
        socket.actor, session_id, terminal_id, ticket, read_size(message), writing
    )


def read_size(message: dict[str, Any]) -> tuple[int, int] | None:
    size = message.get("cols"), message.get("rows")
    if size == (None, None):
        return None
    if not all(type(one) is int for one in size):
        raise InvalidRequest("`cols` and `rows` must be integers", hint="send both, or neither")
    return size  # type: ignore[return-value]  # both are integers


async def _show(socket: Socket, terminal: Terminal, watcher: Watcher) -> None:
    while True:
        await watcher.has_news.wait()
        watcher.has_news.clear()
        await _send_news(socket, terminal, watcher)
        if terminal.ending is not None:
            ending = terminal.ending
            await socket.send({"type": "ended", "code": ending.code, "reason": ending.reason})
            return


async def _send_news(socket: Socket, terminal: Terminal, watcher: Watcher) -> None:
    while True:
        if watcher.needs_snapshot:
            watcher.needs_snapshot = False
            state, screen = _state("screen", terminal, watcher), terminal.snapshot()
            await socket.send(state)
            await socket.send(screen)
        item = watcher.take()
        if item is None:
            return
        if isinstance(item, str):
            await socket.send(item.encode("utf-8", "replace"))
        else:
            await socket.send(_state("writer", terminal, watcher))


def _state(type: str, terminal: Terminal, watcher: Watcher) -> dict[str, Any]:
    writer = terminal.writer
    return {
        "type": type,
        "cols": terminal.columns,
        "rows": terminal.rows,
        "writing": writer is watcher,
        "writer": writer.actor.name if writer else None,
        "watchers": len(terminal.watchers),
    }


async def _listen(socket: Socket, terminal: Terminal, watcher: Watcher) -> None:
    while (message := await socket.receive()) is not None:
        try:
            if isinstance(message, bytes):
                await socket.executor.sessions.terminals.write(terminal, watcher, message)
            else:
                await _act(socket, terminal, watcher, read_object(message))
        except ExecutorError as error:
            await socket.send(problem(error))


async def _act(socket: Socket, terminal: Terminal, watcher: Watcher, message: dict[str, Any]) -> None:
    terminals, size = socket.executor.sessions.terminals, read_size(message)
    if message["type"] == "take_over":
        await terminals.take_over(socket.actor, terminal, watcher, size)
    elif message["type"] == "resize" and size is not None:
        terminals.resize(terminal, watcher, size)
        await socket.send({"type": "resized", "cols": terminal.columns, "rows": terminal.rows})
    else:
        raise InvalidRequest("there is no such message", hint="send `resize` or `take_over`, or bytes")
