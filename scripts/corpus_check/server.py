"""A local HTTP server that remembers the last request to the byte and answers as it was told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from .arrived import Arrived
from .replies import Reply


class Server:
    def __init__(self) -> None:
        self.last: Arrived | None = None
        self.reply = Reply()
        self.respond: Callable[[Arrived], Reply] = lambda arrived: self.reply
        self._server: asyncio.Server | None = None
        self.url = ""

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=16_000_000)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.decode("latin-1").split("\r\n")
                method, target, _ = lines[0].split(" ")
                headers = {
                    name.lower(): value.strip() for name, _, value in (one.partition(":") for one in lines[1:] if one)
                }
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                self.last = Arrived(method, target, headers, body)
                reply = self.respond(self.last)
                writer.write(head_of(reply) + (b"" if method == "HEAD" else reply.body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, ValueError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()


def head_of(reply: Reply) -> bytes:
    lines = [f"HTTP/1.1 {reply.status} Said"]
    if reply.media_type:
        lines.append(f"Content-Type: {reply.media_type}")
    lines += [f"{name}: {value}" for name, value in reply.headers.items()]
    if reply.status != 204:
        lines.append(f"Content-Length: {len(reply.body)}")
    return "\r\n".join([*lines, "", ""]).encode()
