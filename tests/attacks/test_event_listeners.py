"""Many listeners and long reads: what they cost is shared or bounded, and nobody waits behind them."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest
from sqlalchemy.engine import Connection

from executor.storage import feed as notify
from executor.storage.database import QUEUED_SCANS, READERS
from executor.storage.executions import events
from executor.storage.feed import Feed
from executor.surfaces.api import sse
from tests.support.conditions import until, wait_for
from tests.surfaces.api.daemon_server import Daemon, running_daemon

LISTENERS = 40


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("listeners")) as running:
        yield running


def listen(daemon: Daemon, path: str) -> tuple[HTTPConnection, HTTPResponse]:
    connection = HTTPConnection("127.0.0.1", daemon.port, timeout=60)
    headers = {"Authorization": f"Bearer {daemon.tokens.operator}", "Accept": "text/event-stream"}
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    assert answer.readline() == b": connected\n"
    return connection, answer


def ids(answer: HTTPResponse, last: str) -> list[int]:
    """The numbers of the events up to the first of this type."""
    found: list[int] = []
    while True:
        line = answer.readline().decode()
        if line.startswith("id: "):
            found.append(int(line[4:]))
        if line.startswith(f"event: {last}"):
            return found


def test_an_event_is_read_and_written_out_once_however_many_listen(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    view = sse.event_view
    monkeypatch.setattr(sse, "event_view", lambda event: made.append(event.id) or view(event))
    listening = [listen(daemon, "/v1/events?live=true") for _ in range(LISTENERS)]
    wait_for(lambda: len(daemon.executor.feed._tails) == 1)
    (tail,) = daemon.executor.feed._tails.values()
    wait_for(lambda: len(tail.wakers) == LISTENERS and tail.begun.done())
    daemon.execute("return 1", wait=60)
    seen = [ids(answer, "execution.completed") for _, answer in listening]
    for connection, _ in listening:
        connection.close()
    assert all(one == seen[0] for one in seen)
    assert seen[0] == sorted(set(seen[0]))
    assert len(made) < len(seen[0]) * 8  # not 40 times; those that are woken at different moments have other batches
    wait_for(lambda: not daemon.executor.feed._tails)


@pytest.mark.parametrize("kept", [1, 3, 1000])
def test_a_listener_that_is_behind_misses_nothing_and_gets_nothing_twice(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(notify, "KEPT", kept)
    monkeypatch.setattr(notify, "PAGE", 4)
    connection, answer = listen(daemon, "/v1/events")
    for number in range(3):
        daemon.execute(f"console.log({number}); return {number}", wait=60)
    daemon.execute("throw new Error('last')", wait=60)
    seen = ids(answer, "execution.failed")
    connection.close()
    whole = [one["id"] for one in daemon.get("/v1/events?limit=1000").json["items"]]
    assert seen == whole[: len(seen)]
    assert len(seen) >= 12


def test_only_those_that_may_see_an_event_are_woken(daemon: Daemon) -> None:
    async def woken() -> tuple[bool, bool]:
        feed = Feed(daemon.executor.database)
        workspace = daemon.executor.tenancy.workspace.id
        mine, other = (feed.follow(workspace, execution_id=one, after=0) for one in ("exec_mine", "exec_other"))
        waits = [asyncio.ensure_future(anext(one)) for one in (mine, other)]
        await until(lambda: len(feed._tails) == 2 and all(tail.begun.done() for tail in feed._tails.values()))
        await daemon.executor.database.write(lambda c: events.append(c, workspace, "test.happened", {}, "exec_mine"))
        await asyncio.wait(waits, timeout=60, return_when=asyncio.FIRST_COMPLETED)
        found = waits[0].done(), waits[1].done()
        feed.close()
        for wait in waits:
            wait.cancel()
        return found

    before = daemon.executor.database.on_events
    try:
        assert daemon.run(woken()) == (True, False)
    finally:
        daemon.executor.database.on_events = before


def test_short_reads_go_on_while_every_lane_for_long_ones_is_taken(daemon: Daemon) -> None:
    """More long reads than there are readers; each holds its connection until the short ones were answered."""
    release, database = threading.Event(), daemon.executor.database
    workspace = daemon.executor.tenancy.workspace.id

    def hold(c: Connection) -> int:
        release.wait(60)
        return events.newest(c, workspace)

    async def begin() -> list[Any]:
        held = [database.scan(hold) for _ in range(READERS + 2)] + [database.search(hold, 60.0)]
        return [asyncio.ensure_future(one) for one in held]

    waiting = daemon.run(begin())
    try:
        for path in ("/v1/interactions?status=pending", "/v1/executions", "/v1/status"):
            assert daemon.get(path).status == 200
        assert daemon.execute("return 1", wait=60)["status"] == "completed"
        assert not any(one.done() for one in waiting)
    finally:
        release.set()

    async def end() -> list[Any]:
        return list(await asyncio.gather(*waiting))

    assert len(daemon.run(end())) == READERS + 3


def test_long_reads_that_pile_up_are_refused(daemon: Daemon) -> None:
    release, database = threading.Event(), daemon.executor.database

    async def begin() -> list[Any]:
        made = [asyncio.ensure_future(database.scan(lambda c: release.wait(60))) for _ in range(QUEUED_SCANS)]
        await asyncio.sleep(0)
        return made

    waiting = daemon.run(begin())
    try:
        answer = daemon.get("/v1/audit/verify")
        assert (answer.status, answer.json["code"]) == (503, "busy")
    finally:
        release.set()

    async def end() -> None:
        await asyncio.gather(*waiting)

    daemon.run(end())
    assert daemon.get("/v1/audit/verify").json["ok"]


def test_an_export_is_one_event_however_long_it_is(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    from executor.identity import audit

    monkeypatch.setattr(audit, "EXPORTED", 3)
    lines = [json.loads(line) for line in daemon.get("/v1/audit/export").body.splitlines()]
    assert len(lines) > 9
    assert [line["type"] for line in lines].count("audit.exported") == 1
    assert lines[-1]["type"] == "audit.exported"
    assert [line["id"] for line in lines] == sorted({line["id"] for line in lines})
