"""Connections are shared: between executions, between actors, and between hosts."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

import pytest

from executor.errors import SourceUnreachable
from executor.model.fairness import CURRENT, FairQueue, Party
from executor.network.client import Bounds, Egress, Outgoing
from executor.network.slots import HostSlots, Shares, Slots
from tests.sources.upstream import Got, Handler, Upstream, as_json
from tests.support.conditions import until


@contextmanager
def acting_as(actor_id: str, execution_id: str) -> Iterator[None]:
    token = CURRENT.set(Party(actor_id, execution_id))
    try:
        yield
    finally:
        CURRENT.reset(token)


def test_actors_take_turns_and_so_do_the_executions_of_one_actor() -> None:
    queue: FairQueue[str] = FairQueue()
    for item in ("a1", "a2", "a3"):
        queue.push(Party("a", "first"), item)
    queue.push(Party("a", "second"), "A1")
    queue.push(Party("b", "third"), "b1")
    assert [queue.pop() for _ in range(6)] == ["a1", "b1", "A1", "a2", "a3", None]
    assert not len(queue)


def test_who_stops_waiting_leaves_nothing_behind() -> None:
    queue: FairQueue[int] = FairQueue()
    parties = [Party(f"actor{n % 7}", f"execution{n}") for n in range(1000)]
    for n, party in enumerate(parties):
        queue.push(party, n)
    for n, party in enumerate(parties):
        queue.discard(party, n)
        queue.discard(party, n)
    assert not len(queue) and not queue._actors


async def test_no_one_takes_the_last_slot_of_others() -> None:
    slots = Slots(Shares(total=4, actor=3, execution=2))
    async with AsyncExitStack() as held:
        for actor, execution in (("a", "1"), ("a", "1"), ("a", "2")):
            with acting_as(actor, execution):
                await held.enter_async_context(slots.hold("x"))
        for execution in ("1", "2", "3"):
            with acting_as("a", execution), pytest.raises(SourceUnreachable) as busy:
                await held.enter_async_context(slots.hold("x", seconds=0.01))
            assert busy.value.details == {"reason": "busy", "sent": False}
        with acting_as("b", "4"):
            await held.enter_async_context(slots.hold("x", seconds=0.01))
    assert slots.is_idle


async def test_a_freed_slot_goes_to_the_actor_who_had_least() -> None:
    slots, order = Slots(Shares(1, 1, 1)), list[str]()

    async def call(actor: str, n: int) -> None:
        with acting_as(actor, f"{actor}{n}"):
            async with slots.hold("x"):
                order.append(actor)
                await asyncio.sleep(0)

    await asyncio.gather(*(call("greedy", n) for n in range(20)), call("modest", 0))
    assert order.index("modest") <= 2 and len(order) == 21 and slots.is_idle


async def test_hosts_that_hang_do_not_keep_calls_from_other_hosts() -> None:
    slots = HostSlots(Shares(10, 8, 5), Shares(30, 20, 15))
    never = asyncio.Event()

    async def hang(host: str, n: int) -> None:
        with acting_as("greedy", f"e{n}"):
            async with slots.hold(host):
                await never.wait()

    hanging = [asyncio.create_task(hang(f"host{n % 5}", n)) for n in range(200)]
    await asyncio.sleep(0)
    for host in ("host0", "elsewhere"):
        with acting_as("modest", "mine"):
            async with slots.hold(host, seconds=60):
                pass
    for task in hanging:
        task.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)
    assert slots._all.is_idle and all(host.is_idle for host in slots._hosts.values())


async def test_waiting_for_a_turn_is_neither_time_at_the_upstream_nor_sending(upstream: Upstream) -> None:
    go_on, egress = threading.Event(), Egress()
    egress.slots = HostSlots(Shares(1, 1, 1), Shares(1, 1, 1))

    def slow(got: Got, handler: Handler) -> None:
        go_on.wait(60)
        handler.send_response(200)
        handler.send_header("Content-Length", "1")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(b"1")

    upstream.routes |= {"/slow": slow, "/": as_json(2)}
    origins = frozenset({upstream.url})
    try:
        first = asyncio.create_task(egress.send(Outgoing("GET", upstream.url + "/slow"), origins=origins))
        await until(lambda: upstream.requests)
        with pytest.raises(SourceUnreachable) as caught:
            bounds = Bounds(seconds=0.05, queue_seconds=0.3)
            await egress.send(Outgoing("POST", upstream.url + "/"), origins=origins, bounds=bounds)
        assert caught.value.details["reason"] == "busy" and caught.value.details["sent"] is False
        second = egress.send(Outgoing("POST", upstream.url + "/"), origins=origins, bounds=Bounds(seconds=120))
        waiting = asyncio.create_task(second)
        await until(lambda: any(one._queue for one in (egress.slots._all, *egress.slots._hosts.values())))
        go_on.set()
        assert (await first).status == 200 and (await waiting).body == b"2"
        assert [got.target for got in upstream.requests] == ["/slow", "/"]
    finally:
        go_on.set()
        await egress.close()


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_service_that_accepts_and_says_nothing_tells_whether_the_request_left(scheme: str) -> None:
    """Without TLS the request has left; with it the handshake has not even begun."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}"
        egress = Egress()
        try:
            with pytest.raises(SourceUnreachable) as caught:
                await egress.send(Outgoing("POST", url + "/"), origins=frozenset({url}), bounds=Bounds(seconds=10))
        finally:
            await egress.close()
    assert caught.value.details["reason"] == "timeout"
    assert caught.value.details["sent"] is (scheme == "http")
