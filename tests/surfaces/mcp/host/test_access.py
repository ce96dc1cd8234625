"""Who may use a host, and how much."""

from __future__ import annotations

import asyncio
import json

import pytest

from executor.surfaces.mcp.host.message import Message
from executor.surfaces.mcp.host.outbox import Outbox, Room
from executor.surfaces.mcp.host.routes import KEPT_MESSAGES, Routes
from tests.support.conditions import until
from tests.support.processes import is_alive
from tests.surfaces.mcp.host.conftest import Hosted, hosting

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Authorization": ""}, 401, "unauthorized"),
        ({"Authorization": "Bearer exh_wrong"}, 401, "unauthorized"),
        ({"Authorization": "Basic dDp0"}, 401, "unauthorized"),
        ({"Host": "rebound.example"}, 421, "host_refused"),
        ({"Host": "127.0.0.1:1"}, 421, "host_refused"),
        ({"Origin": "https://evil.example"}, 403, "origin_refused"),
        ({"Origin": "null"}, 403, "origin_refused"),
        ({"Sec-Fetch-Site": "cross-site"}, 403, "origin_refused"),
        ({"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
        ({"Content-Length": str(5 * 1024 * 1024)}, 413, "body_too_large"),
    ],
)
async def test_a_request_that_the_daemon_would_refuse_starts_nothing(
    host: Hosted, headers: dict[str, str], status: int, code: str
) -> None:
    body = b" " * (5 * 1024 * 1024) if "Content-Length" in headers else json.dumps(INITIALIZE).encode()
    answer = await host.post(body, **headers)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert host.reports == []


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {}, 400),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {"Mcp-Session-Id": "unknown"}, 404),
        (INITIALIZE, {"Mcp-Session-Id": "unknown"}, 400),
        ([INITIALIZE], {}, 400),
        (b"{", {}, 400),
        (INITIALIZE, {"Accept": "application/json"}, 406),
        # What clients of revision 2026-07-28 try first. Any JSON-RPC error makes them initialize a session instead.
        ({"jsonrpc": "2.0", "id": 1, "method": "server/discover"}, {"Mcp-Protocol-Version": "2026-07-28"}, 400),
    ],
)
async def test_a_message_outside_of_a_session_is_refused_with_the_reason(
    host: Hosted, body: object, headers: dict[str, str], status: int
) -> None:
    answer = await host.post(body, **headers)
    assert answer.status_code == status and answer.json()["error"]["message"]
    assert host.reports == []


async def test_health_needs_no_token_and_other_addresses_do(host: Hosted) -> None:
    root = host.url.removesuffix("/mcp")
    assert (await host.http.get(f"{root}/healthz", headers={"Authorization": ""})).status_code == 200
    assert (await host.http.get(f"{root}/", headers={"Authorization": ""})).status_code == 401
    assert (await host.http.get(f"{root}/")).status_code == 404
    assert (await host.http.put(host.url, json={})).status_code == 405


async def test_sessions_are_limited_and_a_deleted_one_makes_room() -> None:
    async with hosting(max_sessions=1) as host:
        session = await host.open()
        refused = await host.post(INITIALIZE)
        assert refused.status_code == 503 and "as this host allows (1)" in refused.json()["error"]["message"]
        ended = await host.http.delete(host.url, headers={"Mcp-Session-Id": session})
        assert ended.status_code == 200
        assert (await host.ask(session, "heard")).status_code == 404
        assert await host.open() != session


async def test_an_idle_session_ends_and_one_with_an_open_stream_does_not(host: Hosted) -> None:
    kept, left = await host.open(), await host.open()
    opened = asyncio.Event()
    listening = asyncio.create_task(host.listen(kept, [], opened))
    await opened.wait()
    child = await host.do(left, "fork")
    await host.app.end_idle(asyncio.get_running_loop().time() + host.app.limits.idle_seconds)
    assert "session 2 was idle and is ended" in host.reports
    assert not is_alive(child)
    assert (await host.ask(left, "heard")).status_code == 404
    assert (await host.ask(kept, "heard")).status_code == 200
    listening.cancel()


async def test_idle_sessions_are_looked_for_without_being_asked() -> None:
    async with hosting(idle_seconds=1) as host:
        await host.open()
        await until(lambda: "session 1 ended" in host.reports)


async def test_a_session_that_was_never_initialized_ends_at_once() -> None:
    """The client that asked for it can't name it, so no one could end it."""
    async with hosting("/bin/sh", "-c", 'read line; echo \'{"jsonrpc":"2.0","id":1,"error":{}}\'; sleep 600') as host:
        answer = await host.post(INITIALIZE)
        assert answer.json() == {"jsonrpc": "2.0", "id": 1, "error": {}}
        await until(lambda: "session 1 ended" in host.reports)


async def test_a_command_that_is_gone_is_reported_and_takes_no_place() -> None:
    async with hosting("/no/such/command", max_sessions=1) as host:
        for _ in range(3):
            answer = await host.post(INITIALIZE)
            assert answer.status_code == 502 and "No such file" in answer.json()["error"]["message"]
    assert len([line for line in host.reports if "can't be started: No such file" in line]) == 3


async def test_a_command_that_ends_at_once_is_reported_and_takes_no_place() -> None:
    async with hosting("/bin/true", max_sessions=1) as host:
        for _ in range(3):
            answer = await host.post(INITIALIZE)
            assert answer.status_code in (200, 404) and "ended" in answer.json()["error"]["message"]
            await until(lambda: host.app.sessions_open == 0)


async def test_a_reader_that_does_not_read_makes_the_writer_wait() -> None:
    outbox = Outbox(Room(10))
    await outbox.put(Message(b"x" * 30))
    second = asyncio.create_task(outbox.put(Message(b"y")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not second.done()
    first = await outbox.next(60)
    assert first is not None
    outbox.release(first)
    await second
    assert await outbox.next(60) == Message(b"y")


async def test_a_reader_that_has_left_holds_no_room() -> None:
    room = Room(10)
    outbox, other = Outbox(room), Outbox(room)
    await outbox.put(Message(b"x" * 30))
    waiting = asyncio.create_task(other.put(Message(b"y")))
    await asyncio.sleep(0)
    outbox.discard()
    await waiting
    await outbox.put(Message(b"dropped"))
    assert outbox.is_over and not other.is_over


async def test_only_the_latest_notices_are_kept_for_a_stream_that_is_not_open() -> None:
    routes = Routes(Room(1_000_000))
    for number in range(KEPT_MESSAGES + 5):
        routes.keep(Message(str(number).encode(), method="notifications/message"))
    outbox = await routes.listen()
    first = await outbox.next(60)
    assert first is not None and first.data == b"5"
