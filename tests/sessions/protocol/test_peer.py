"""Both sides of a conversation, over a real socket pair."""

from __future__ import annotations

import array
import asyncio
import os
import pty
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from executor.errors import NotFound
from executor.sessions.protocol.channel import PipeChannel, SocketChannel
from executor.sessions.protocol.credentials import is_pty, peer_uid
from executor.sessions.protocol.lines import RpcError
from executor.sessions.protocol.peer import ConnectionClosed, Handler, Peer, WithDescriptor

LIMIT = 60


@asynccontextmanager
async def two_peers(left: dict[str, Handler], right: dict[str, Handler]) -> AsyncIterator[tuple[Peer, Peer]]:
    a, b = socket.socketpair()
    one, other = Peer(SocketChannel(a), left), Peer(SocketChannel(b), right)
    try:
        yield one, other
    finally:
        one.close()
        other.close()


@asynccontextmanager
async def raw_client(handlers: dict[str, Handler], **options: Any) -> AsyncIterator[tuple[socket.socket, Peer]]:
    """A peer, and a socket over which a test says what it likes."""
    a, b = socket.socketpair()
    a.setblocking(False)
    peer = Peer(SocketChannel(b), handlers, **options)
    try:
        yield a, peer
    finally:
        peer.close()
        a.close()


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def send(client: socket.socket, data: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(client, data)


async def receive(client: socket.socket) -> dict[str, Any]:
    data = b""
    async with asyncio.timeout(LIMIT):
        while not data.endswith(b"\n"):
            data += await asyncio.get_running_loop().sock_recv(client, 65536)
    message: dict[str, Any] = orjson.loads(data)
    return message


async def test_both_sides_call_at_once_with_the_same_ids() -> None:
    async def ask_back(params: dict[str, Any]) -> Any:
        return [await right.call("name", {}), params["n"]]

    async with two_peers({"name": lambda _: "left"}, {"ask": ask_back, "name": lambda _: "right"}) as (left, right):
        answers = await asyncio.gather(*(left.call("ask", {"n": n}, LIMIT) for n in range(20)))
    assert answers == [["left", n] for n in range(20)]


async def test_notifications_are_handled_in_order_and_before_a_later_answer() -> None:
    seen: list[int] = []

    async def note(params: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        seen.append(params["n"])

    async def flood(_: dict[str, Any]) -> str:
        for n in range(10_000):
            await right.notify("note", {"n": n})
        return "done"

    async with two_peers({"note": note}, {"flood": flood}) as (left, right):
        assert await left.call("flood", {}, LIMIT) == "done"
        assert seen == list(range(10_000))


async def test_closing_fails_pending_calls_and_cancels_handlers() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def hang(_: dict[str, Any]) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with two_peers({}, {"hang": hang}) as (left, _):
        pending = asyncio.create_task(left.call("hang", {}))
        await asyncio.wait_for(started.wait(), LIMIT)
        left.close("had enough")
        with pytest.raises(ConnectionClosed, match="had enough"):
            await pending
        await asyncio.wait_for(cancelled.wait(), LIMIT)


async def test_a_call_that_takes_too_long_times_out_and_its_late_answer_is_dropped() -> None:
    release = asyncio.Event()

    async def slow(_: dict[str, Any]) -> str:
        await release.wait()
        return "late"

    async with two_peers({}, {"slow": slow, "ping": lambda _: "pong"}) as (left, _):
        with pytest.raises(TimeoutError):
            await left.call("slow", {}, timeout=0.01)
        release.set()
        assert await left.call("ping", {}, LIMIT) == "pong"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{nonsense\n", -32700),
        (b"\xff\xfe\n", -32700),
        (b"[" * 5000 + b"\n", -32700),
        (b"[]\n", -32600),
        (b"{}\n", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}\n', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}\n', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"absent"}\n', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"fault"}\n', -32603),
        (b'{"jsonrpc":"2.0","id":1,"method":"refuse"}\n', -32000),
    ],
)
async def test_a_bad_message_gets_its_code_and_the_next_one_works(line: bytes, code: int) -> None:
    def fault(_: dict[str, Any]) -> None:
        raise ZeroDivisionError("secret detail")

    def refuse(_: dict[str, Any]) -> None:
        raise NotFound("there is no such thing", hint="look elsewhere")

    async with raw_client({"ping": lambda _: "pong", "fault": fault, "refuse": refuse}) as (client, _):
        await send(client, line)
        answer = await receive(client)
        assert answer["error"]["code"] == code
        assert "secret detail" not in str(answer)
        assert "Traceback" not in str(answer)
        await send(client, b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
        assert (await receive(client))["result"] == "pong"


async def test_half_of_a_surrogate_pair_does_not_cost_the_message() -> None:
    async with raw_client({"echo": lambda params: params["text"]}) as (client, _):
        await send(client, b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"a\\ud83d b"}}\n')
        assert (await receive(client))["result"] == "a? b"


async def test_a_message_in_pieces_is_one_message_and_half_a_message_is_none() -> None:
    handled: list[str] = []
    async with raw_client({"ping": lambda _: handled.append("ping") or "pong"}) as (client, peer):
        for byte in b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n':
            await send(client, bytes([byte]))
        assert (await receive(client))["result"] == "pong"
        await send(client, b'{"jsonrpc":"2.0","id":2,"method":"ping"}')
        client.close()
        assert "middle of a message" in await asyncio.wait_for(peer.wait_closed(), LIMIT)
    assert handled == ["ping"]


async def test_a_line_of_200_kb_passes_and_one_above_the_limit_ends_the_conversation_with_an_error() -> None:
    async with raw_client({"size": lambda params: len(params["text"])}, max_line=300_000) as (client, peer):
        await send(client, b'{"jsonrpc":"2.0","id":1,"method":"size","params":{"text":"%b"}}\n' % (b"x" * 200_000))
        assert (await receive(client))["result"] == 200_000
        await send(client, b"y" * 300_001)
        answer = await receive(client)
        assert answer["error"] == {"code": -32600, "message": "a message is longer than 300000 bytes"}
        assert "300000" in await asyncio.wait_for(peer.wait_closed(), LIMIT)


async def test_a_reader_that_stalls_holds_the_writer_back() -> None:
    a, b = socket.socketpair()
    peer = Peer(SocketChannel(b), {})
    text = "x" * 2**20

    async def write() -> None:
        for _ in range(64):
            await peer.notify("note", {"text": text})

    writer = asyncio.create_task(write())
    await asyncio.sleep(0)
    for _ in range(100):
        await asyncio.sleep(0)
    assert not writer.done()
    peer.close()
    with pytest.raises(ConnectionClosed):
        await writer
    a.close()


async def test_a_request_is_answered_although_its_sender_has_closed_its_half() -> None:
    async with raw_client({"ping": lambda _: "pong"}) as (client, _):
        await send(client, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        client.shutdown(socket.SHUT_WR)
        assert (await receive(client))["result"] == "pong"


async def test_a_terminal_is_handed_over_with_an_answer() -> None:
    def spawn(_: dict[str, Any]) -> WithDescriptor:
        ours, theirs = pty.openpty()
        os.close(theirs)
        return WithDescriptor({"terminal_id": "t1"}, ours)

    async with two_peers({}, {"spawn": spawn, "ping": lambda _: "pong"}) as (left, _):
        assert await left.call("ping", {}, LIMIT) == "pong"
        result, descriptor = await left.call_for_descriptor("spawn", {}, LIMIT)
        assert result == {"terminal_id": "t1"}
        assert descriptor is not None
        assert is_pty(descriptor)
        assert not os.get_inheritable(descriptor)
        os.close(descriptor)


async def test_descriptors_that_no_message_announces_end_the_conversation_and_are_closed() -> None:
    before = open_descriptors()
    async with raw_client({}) as (client, peer):
        for _ in range(8):
            client.sendmsg([b"{}\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])
        await asyncio.wait_for(peer.wait_closed(), LIMIT)
    assert open_descriptors() <= before


async def test_two_descriptors_in_one_message_end_the_conversation() -> None:
    async with raw_client({}) as (client, peer):
        client.sendmsg([b"{}\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
        assert "one descriptor" in await asyncio.wait_for(peer.wait_closed(), LIMIT)


def test_a_file_or_a_socket_is_not_taken_for_a_terminal() -> None:
    left, right = socket.socketpair()
    with left, right, Path(os.devnull).open() as null:
        assert not is_pty(left.fileno())
        assert not is_pty(null.fileno())
        assert peer_uid(left) == os.getuid()
    assert not is_pty(9999)


async def test_lines_that_a_program_prints_are_skipped_over_pipes() -> None:
    (theirs, to_us), (from_us, ours) = os.pipe(), os.pipe()
    peer = Peer(PipeChannel(theirs, ours), {}, lenient=True)
    call = asyncio.create_task(peer.call("ask", {}, LIMIT))
    request = orjson.loads(await asyncio.to_thread(os.read, from_us, 65536))
    os.write(
        to_us, b"Debugger attached.\n" + orjson.dumps({"jsonrpc": "2.0", "id": request["id"], "result": 7}) + b"\n"
    )
    assert await call == 7
    assert peer.skipped_lines == 1
    os.close(to_us)
    assert await asyncio.wait_for(peer.wait_closed(), LIMIT) == "closed"
    os.close(from_us)


async def test_an_error_arrives_with_code_message_and_hint() -> None:
    def refuse(_: dict[str, Any]) -> None:
        raise NotFound("there is no session s1", hint="list them")

    async with two_peers({}, {"find": refuse}) as (left, _):
        with pytest.raises(RpcError) as caught:
            await left.call("find", {}, LIMIT)
    assert caught.value.to_object() == {
        "code": -32000,
        "message": "there is no session s1",
        "data": {"code": "not_found", "hint": "list them"},
    }
