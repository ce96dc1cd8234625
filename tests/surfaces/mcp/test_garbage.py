"""What a call leaves behind: it is freed at once, without the garbage collector, whose passes stop everything."""

from __future__ import annotations

import asyncio
import gc
import http.client
import json
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any, cast

import pytest
import uvloop

from executor.execution.runs.run import Run
from executor.network.client import Attempt
from executor.surfaces.http.long_wait import LongWaits
from executor.surfaces.http.open_requests import CURRENT, OpenRequest
from executor.surfaces.mcp.open_calls import CURRENT_CALL, OpenCalls
from executor.surfaces.mcp.streams.progress import CallStream
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.mcp.test_malformed_requests import ACCEPT
from tests.surfaces.mcp.tool_call import SESSION

SHORT_LIVED = (Run, Attempt)


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alive() -> Counter[str]:
    return Counter(type(one).__name__ for one in gc.get_objects() if isinstance(one, SHORT_LIVED))


@pytest.mark.parametrize("code", ["return 1", "return await tools.shop.things.listThings()", "throw 1"])
def test_calls_leave_nothing_to_the_garbage_collector(
    daemon: Daemon, shop: list[Any], no_collector: None, code: str
) -> None:
    before = alive()
    params = {"name": "execute", "arguments": {"code": code}}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    token = {"Authorization": f"Bearer {daemon.tokens.agent}", "Content-Type": "application/json"}
    with closing(http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)) as connection:
        for _ in range(5):
            connection.request("POST", "/mcp", message, {**token, **ACCEPT, **SESSION})
            assert connection.getresponse().read()
        wait_for(lambda: max((alive() - before).values(), default=0) == 0, seconds=60)


async def test_a_request_keeps_nothing_of_a_call_that_is_over() -> None:
    request = OpenRequest(cast(Any, None), cast(Any, None), lambda doubtful: None)
    CURRENT.set(request)
    with OpenCalls(LongWaits()).track(("key",)):
        assert request.on_leave is not None
    assert request.on_leave is None


def test_a_stream_keeps_nothing_of_a_call_that_is_over(no_collector: None) -> None:
    """On the daemon's loop: that of the standard library holds every timer, also cancelled ones, until its time."""

    async def answer() -> weakref.ref[CallStream]:
        stream = CallStream(cast(Any, None), {"id": 1}, None)
        with OpenCalls(LongWaits()).track(("key",)):
            CURRENT_CALL.get().stream = stream
            await stream.answer_plainly(cast(Any, lambda send: asyncio.sleep(0)))
        return weakref.ref(stream)

    async def answer_in_a_task() -> CallStream | None:
        stream = await asyncio.create_task(answer())
        await asyncio.sleep(0.05)  # until the loop has closed the timer
        return stream()

    assert uvloop.run(answer_in_a_task()) is None
