"""Head and body of an answer go out together, and nothing is held back that someone waits for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from uvicorn.server import ServerState

from executor.daemon.server.http_protocol import BoundedProtocol
from executor.daemon.server.http_server import configuration
from tests.support.conditions import until

HEAD = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]}
STREAM = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}


class Packets(asyncio.Transport):
    """Every write, as it would go to the client."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.is_closed = False

    def write(self, data: Any) -> None:
        self.sent.append(bytes(data))

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def resume_reading(self) -> None: ...


async def request(messages: list[Any], head: bytes, wait: asyncio.Event | None = None) -> Packets:
    """What is sent for an application that sends these messages, and after the first waits for an event."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if b"expect" in dict(scope["headers"]):
            await receive()
        for number, message in enumerate(messages):
            if number and wait is not None:
                await wait.wait()
            await send(dict(message))

    configured = configuration(application)
    configured.load()
    server_state = ServerState()
    protocol, packets = BoundedProtocol(config=configured, server_state=server_state, app_state={}), Packets()
    protocol.connection_made(packets)
    protocol.data_received(head)
    if wait is None:
        await until(lambda: not server_state.tasks)
    else:
        await until(lambda: packets.sent)
    return packets


@pytest.mark.parametrize("body", [b"four", b""])
async def test_an_answer_of_known_length_is_one_packet(body: bytes) -> None:
    start = HEAD | {"headers": [(b"content-length", b"%d" % len(body))]}
    packets = await request([start, {"type": "http.response.body", "body": body}], b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    assert len(packets.sent) == 1
    assert packets.sent[0].startswith(b"HTTP/1.1 200 OK\r\n")
    assert packets.sent[0].endswith(b"\r\n\r\n" + body)


async def test_pieces_of_a_body_follow_one_by_one() -> None:
    pieces = [{"type": "http.response.body", "body": part, "more_body": part != b"ur"} for part in (b"fo", b"ur")]
    packets = await request([HEAD, *pieces], b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    assert [packet[-2:] for packet in packets.sent] == [b"fo", b"ur"]


async def test_a_stream_begins_before_it_has_anything_to_say() -> None:
    go_on = asyncio.Event()
    messages = [STREAM, {"type": "http.response.body", "body": b"data: 1\n\n"}]
    packets = await request(messages, b"GET / HTTP/1.1\r\nhost: a\r\n\r\n", go_on)
    assert packets.sent[0].endswith(b"\r\n\r\n")
    go_on.set()
    await until(lambda: b"data: 1" in b"".join(packets.sent))


async def test_the_head_alone_is_sent_where_there_is_no_body() -> None:
    packets = await request([HEAD, {"type": "http.response.body"}], b"HEAD / HTTP/1.1\r\nhost: a\r\n\r\n")
    assert len(packets.sent) == 1
    assert packets.sent[0].endswith(b"content-length: 4\r\n\r\n")


async def test_a_client_that_waits_to_send_its_body_is_told_to_at_once() -> None:
    go_on = asyncio.Event()
    asked = b"POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n"
    packets = await request([HEAD, {"type": "http.response.body", "body": b"four"}], asked, go_on)
    assert packets.sent == [b"HTTP/1.1 100 Continue\r\n\r\n"]


async def test_a_connection_that_ends_with_the_answer_is_closed_after_it() -> None:
    asked = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
    packets = await request([HEAD, {"type": "http.response.body", "body": b"four"}], asked)
    assert packets.sent[0].endswith(b"four")
    assert packets.is_closed
