"""Calls that take long: news of progress renews their time, up to a bound."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from executor.errors import InvalidRequest, SourceUnreachable
from executor.sources.mcp.kind import Mcp
from executor.sources.mcp.sessions import exchange as exchanges
from executor.sources.mcp.sessions.exchange import GRACE_SECONDS, Exchange
from tests.sources.mcp.conftest import REAL, McpConnector, serving
from tests.support.conditions import until


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
async def test_news_of_progress_renews_the_time_of_a_call(
    connect: McpConnector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    deadlines: list[float] = []
    hear = Exchange.hear_progress

    async def listen(self: Exchange, *told: Any) -> None:
        await hear(self, *told)
        deadlines.append(self.deadline)

    monkeypatch.setattr(Exchange, "hear_progress", listen)
    async with AsyncExitStack() as stack:
        if transport == "stdio":
            connected = await connect.to_command(REAL, "stdio")
        else:
            url = stack.enter_context(serving(transport))
            connected = await connect.to_url(f"{url}/{'mcp' if transport == 'http' else 'sse'}")
        going = asyncio.create_task(connected.call("work", until=str(tmp_path / "go")))
        await until(lambda: len(deadlines) >= 3 or going.done())
        (tmp_path / "go").touch()
        assert await going == "done"
    assert deadlines[0] < deadlines[1] < deadlines[2]


async def test_progress_never_takes_a_call_beyond_its_whole_time() -> None:
    exchange, now = Exchange(60, total=90), asyncio.get_running_loop().time()
    for _ in range(5):
        await exchange.hear_progress(1, None, None)
    assert exchange.deadline <= now + 61
    exchange._seconds = 200
    await exchange.hear_progress(1, None, None)
    assert exchange.deadline == pytest.approx(now + 90, abs=5)


async def test_what_is_being_read_goes_on_with_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    exchange = Exchange(60, total=900)
    async with exchange.reading():
        (timeout,) = exchange._others
        exchange._seconds = 600
        await exchange.hear_progress(1, None, None)
        assert timeout.when() == exchange.deadline + GRACE_SECONDS
    assert not exchange._others


async def test_a_call_without_news_ends_and_says_how_long_it_had() -> None:
    async def wait(exchange: Exchange) -> None:
        async with exchange.running("it"):
            await exchange.hear_progress(1, None, None)
            await asyncio.Event().wait()

    with pytest.raises(SourceUnreachable, match=r"within 0\.01 seconds"):
        await wait(Exchange(0.01, total=600))
    with pytest.raises(SourceUnreachable, match=r"within 0\.02 seconds"):
        await wait(Exchange(600, total=0.02))


async def test_a_source_may_have_times_of_its_own(kind: Mcp, connect: McpConnector) -> None:
    connected = await connect.to_command(REAL, "stdio", callSeconds=7, totalSeconds=70)
    assert connected.source.config["seconds"] == {"callSeconds": 7, "totalSeconds": 70}
    again = kind.reload_request(connected.source)
    assert (again.options["callSeconds"], again.options["totalSeconds"]) == (7, 70)
    seen: list[tuple[float, float]] = []
    made = exchanges.Exchange.__init__

    def note(self: Exchange, seconds: float, *, opens: bool = False, total: float = 0.0, **more: Any) -> None:
        seen.append((seconds, total))
        made(self, seconds, opens=opens, total=total, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Exchange, "__init__", note)
        await connected.call("greet", name="x")
    assert seen == [(7, 70)]


@pytest.mark.parametrize("seconds", [0, -1, "60", True, 1e9])
async def test_times_that_make_no_sense_are_refused(connect: McpConnector, seconds: Any) -> None:
    with pytest.raises(InvalidRequest, match="callSeconds"):
        await connect.to_command(REAL, "stdio", callSeconds=seconds)
