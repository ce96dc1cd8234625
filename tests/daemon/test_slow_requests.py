"""Requests that are begun and never finished, over real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from executor.daemon.server.http_server import Listening, Patience
from tests.support.conditions import until

WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
BEGUN = {
    "one byte": b"G",
    "half a head": b"GET / HTTP/1.1\r\nHost: x\r\n",
    "half a body": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf",
}


class Surfaces:
    """Reads a body if there is one, thinks until it may answer, and answers."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        while message.get("more_body"):
            message = await receive()
        if message["type"] == "http.disconnect":
            return
        self.asked.set()
        await self.may_answer.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def load(self, executor: Any) -> None: ...

    def release(self) -> None: ...

    async def close(self) -> None: ...


@asynccontextmanager
async def listening(surfaces: Surfaces, patience: float) -> AsyncIterator[tuple[Listening, tuple[str, int]]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Listening(surfaces, listener, asyncio.Event(), patience)
        yield server, listener.getsockname()
        await server.stop()


@pytest.mark.parametrize("begun", BEGUN.values(), ids=BEGUN)
@pytest.mark.parametrize("before", [b"", WHOLE], ids=["first", "second"])
async def test_a_request_that_is_never_finished_loses_its_connection(begun: bytes, before: bytes) -> None:
    surfaces = Surfaces()
    surfaces.may_answer.set()
    async with listening(surfaces, patience=0.2) as (_, address):
        reader, writer = await asyncio.open_connection(*address)
        if before:
            writer.write(before)
            await reader.readuntil(b"ok")
        writer.write(begun)
        async with asyncio.timeout(120):
            with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
                await reader.readexactly(10_000)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def test_a_connection_on_which_nothing_is_ever_said_is_dropped() -> None:
    async with listening(Surfaces(), patience=0.2) as (_, address), asyncio.timeout(120):
        reader, writer = await asyncio.open_connection(*address)
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


class Large(Surfaces):
    """Answers more than any socket takes in at once."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.set()
        body = bytes(32_000_000)
        length = (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": body})


async def test_a_client_that_never_takes_the_answer_loses_the_connection() -> None:
    """`transport.get_write_buffer_size` in Patience.look: what nobody takes must not hold a file for ever."""
    surfaces = Large()
    async with listening(surfaces, patience=0.2) as (server, address), asyncio.timeout(120):
        _, writer = await asyncio.open_connection(*address, limit=1000)
        writer.write(WHOLE)
        await surfaces.asked.wait()
        await until(lambda: not server.connections)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def test_a_client_that_takes_the_answer_slowly_gets_all_of_it() -> None:
    surfaces = Large()
    async with listening(surfaces, patience=1000) as (server, address), asyncio.timeout(120):
        reader, writer = await asyncio.open_connection(*address, limit=1000)
        patience, now = Patience(server.connections), 0.0
        writer.write(WHOLE)
        await reader.readuntil(b"\r\n\r\n")
        left = 32_000_000
        while left:
            left -= len(await reader.readexactly(min(left, 4_000_000)))
            patience.look(now := now + 50)
        writer.close()
        await writer.wait_closed()


async def test_a_slow_answer_and_a_pause_between_requests_lose_nothing() -> None:
    surfaces = Surfaces()
    async with listening(surfaces, patience=1000) as (server, address), asyncio.timeout(120):
        reader, writer = await asyncio.open_connection(*address)
        look_for_ages = looks(Patience(server.connections))
        for _ in range(2):
            writer.write(WHOLE)
            await surfaces.asked.wait()
            look_for_ages()
            surfaces.may_answer.set()
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            assert await reader.readexactly(2) == b"ok"
            surfaces.asked.clear()
            surfaces.may_answer.clear()
            look_for_ages()
        writer.close()
        await writer.wait_closed()


def looks(patience: Patience) -> Callable[[], None]:
    def look_for_ages() -> None:
        for now in range(0, 1000, 10):
            patience.look(float(now))

    return look_for_ages
