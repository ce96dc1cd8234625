"""A trivial HTTP/1.1 API in a process of its own: one read, one write, and the OpenAPI document that describes them.

It answers from memory over keep-alive connections, so that what is measured is the way to it and not the API itself.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

JSON_TYPE = b"application/json"


def document(port: int) -> dict[str, Any]:
    thing = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
    answer = {"200": {"description": "a thing", "content": {"application/json": {"schema": thing}}}}
    read = {
        "operationId": "getThing",
        "tags": ["things"],
        "summary": "Read one thing",
        "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
        "responses": answer,
    }
    named = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    write = {
        "operationId": "createThing",
        "tags": ["things"],
        "summary": "Create one thing",
        "requestBody": {"required": True, "content": {"application/json": {"schema": named}}},
        "responses": answer,
    }
    return {
        "openapi": "3.0.3",
        "info": {"title": "Things", "version": "1.0.0"},
        "servers": [{"url": f"http://127.0.0.1:{port}"}],
        "paths": {"/things/{id}": {"get": read}, "/things": {"post": write}},
    }


class Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self.buffer = b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end]
            size = body_size(head)
            if len(self.buffer) < end + 4 + size:
                return
            body = self.buffer[end + 4 : end + 4 + size]
            self.buffer = self.buffer[end + 4 + size :]
            self.answer(head, body)

    def answer(self, head: bytes, body: bytes) -> None:
        assert self.transport is not None
        method, target, _ = head.split(b"\r\n", 1)[0].split(b" ", 2)
        text = reply(method, target, body, self.transport.get_extra_info("sockname")[1])
        status = b"200 OK" if text else b"404 Not Found"
        self.transport.write(
            b"HTTP/1.1 %b\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n%b" % (status, JSON_TYPE, len(text), text)
        )


def body_size(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def reply(method: bytes, target: bytes, body: bytes, port: int) -> bytes:
    if method == b"GET" and target == b"/openapi.json":
        return json.dumps(document(port)).encode()
    if method == b"GET" and target.startswith(b"/things/"):
        return b'{"id":%b,"name":"thing"}' % target[len(b"/things/") :]
    if method == b"POST" and target == b"/things":
        return json.dumps({"id": 1, "name": json.loads(body).get("name", "")}).encode()
    return b""


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)  # ends with the process that started it


if __name__ == "__main__":
    asyncio.run(serve())
