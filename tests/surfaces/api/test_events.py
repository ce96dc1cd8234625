from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from executor.errors import StorageError
from executor.model.event import Batch
from executor.storage.executions import events
from executor.surfaces.api import sse
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon, running_daemon


class Stream:
    """One server-sent event stream, read line by line."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.response = response

    def frames(self) -> Iterator[dict[str, str]]:
        frame: dict[str, str] = {}
        while line := self.response.readline():
            text = line.decode().rstrip("\n")
            if not text and frame:
                yield frame
                frame = {}
            elif text:
                name, _, value = text.partition(":")
                frame[name or "comment"] = value.strip()

    def events(self) -> Iterator[Any]:
        return (json.loads(frame["data"]) for frame in self.frames() if "data" in frame)


@contextmanager
def stream(daemon: Daemon, path: str, **headers: str) -> Iterator[Stream]:
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=120)
    sent = {"Authorization": f"Bearer {daemon.tokens.operator}", "Accept": "text/event-stream", **headers}
    connection.request("GET", path, headers=sent)
    response = connection.getresponse()
    assert response.status == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    try:
        yield Stream(response)
    finally:
        response.close()
        connection.close()


def test_a_stream_of_an_execution_replays_its_history_and_ends_with_it(daemon: Daemon) -> None:
    view = daemon.execute("console.log('hello'); return 1")
    with stream(daemon, f"/v1/executions/{view['executionId']}/events") as live:
        events = list(live.events())
    types = [event["type"] for event in events]
    assert types[0] == "execution.created"
    assert types[-1] == "execution.completed"
    assert "execution.log" in types
    assert {event["executionId"] for event in events} == {view["executionId"]}
    assert [event["id"] for event in events] == sorted({event["id"] for event in events})


def test_a_stream_has_the_last_events_of_an_execution_that_ends_while_its_follower_looks(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def follow(*_: Any, **__: Any) -> AsyncGenerator[Batch, None]:
        yield Batch(())  # it found nothing; meanwhile the execution has ended

    view = daemon.execute("return 1")
    monkeypatch.setattr(daemon.executor.feed, "follow", follow)
    with stream(daemon, f"/v1/executions/{view['executionId']}/events") as live:
        types = [event["type"] for event in live.events()]
    assert (types[0], types[-1]) == ("execution.created", "execution.completed")


def test_a_stream_of_a_paused_execution_goes_on_live_until_its_end(daemon: Daemon, paused: Any) -> None:
    seen: list[str] = []

    def read() -> None:
        with stream(daemon, f"/v1/executions/{paused['executionId']}/events") as live:
            seen.extend(event["type"] for event in live.events())

    reader = threading.Thread(target=read)
    reader.start()
    wait_for(lambda: "execution.paused" in seen)
    daemon.post(f"/v1/interactions/{paused['interactions'][0]['id']}/approve")
    reader.join(120)
    assert seen.index("interaction.requested") < seen.index("interaction.approved") < len(seen) - 1
    assert seen[-1] == "execution.completed"


def test_a_reader_that_comes_back_misses_and_repeats_nothing(daemon: Daemon) -> None:
    view = daemon.execute("console.log('a'); console.log('b'); return 1")
    path = f"/v1/executions/{view['executionId']}/events"
    with stream(daemon, path) as live:
        everything = [int(frame["id"]) for frame in live.frames() if "id" in frame]
    for last in everything[:-1]:
        with stream(daemon, path, **{"Last-Event-ID": str(last)}) as live:
            assert [event["id"] for event in live.events()] == [number for number in everything if number > last]
        with stream(daemon, f"{path}?after={last}") as live:
            assert [event["id"] for event in live.events()] == [number for number in everything if number > last]


def test_a_reader_past_the_end_of_a_finished_execution_is_let_go_at_once(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 3600)
    view = daemon.execute("return 1")
    with stream(daemon, f"/v1/executions/{view['executionId']}/events?after=999999999") as live:
        assert list(live.events()) == []


def test_the_stream_of_the_workspace_shows_what_everyone_does(daemon: Daemon) -> None:
    last = daemon.get("/v1/events?limit=1000").json["items"][-1]["id"]
    with stream(daemon, "/v1/events", **{"Last-Event-ID": str(last)}) as live:
        view = daemon.execute("return 1", role="operator")
        added = daemon.post("/v1/policies", {"pattern": "never.**", "action": "deny"}).json
        found = []
        for event in live.events():
            found.append(event)
            if event["type"] == "policy.added":
                break
    daemon.request("DELETE", f"/v1/policies/{added['id']}")
    assert view["executionId"] in {event["executionId"] for event in found}
    assert found[-1]["data"]["pattern"] == "never.**"


def test_a_quiet_stream_is_kept_alive_by_comments(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.05)
    last = daemon.get("/v1/events?limit=1000").json["items"][-1]["id"]
    with stream(daemon, f"/v1/events?after={last}") as live:
        comments = [frame["comment"] for _, frame in zip(range(4), live.frames(), strict=False)]
    assert comments == ["connected", "heartbeat", "heartbeat", "heartbeat"]


def test_events_are_also_given_as_pages(daemon: Daemon) -> None:
    view = daemon.execute("return 1")
    path = f"/v1/executions/{view['executionId']}/events"
    first = daemon.get(f"{path}?limit=1").json
    assert [event["type"] for event in first["items"]] == ["execution.created"]
    rest = daemon.get(f"{path}?after={first['next']}").json
    assert rest["items"][-1]["type"] == "execution.completed"
    assert rest["next"] is None


def test_too_many_streams_are_refused_and_closed_ones_make_room(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds = replace(daemon.app.state.streams.streams.bounds, all=1)
    monkeypatch.setattr(daemon.app.state.streams.streams, "bounds", bounds)
    with stream(daemon, "/v1/events") as live:
        next(live.frames())
        refused = daemon.get("/v1/events", headers={"Accept": "text/event-stream"})
        assert (refused.status, refused.json["code"]) == (503, "busy")

    def open_again() -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=120)
        headers = {"Authorization": f"Bearer {daemon.tokens.operator}", "Accept": "text/event-stream"}
        connection.request("GET", "/v1/events", headers=headers)
        status = connection.getresponse().status
        connection.close()
        return status == 200

    wait_for(open_again)


def test_a_reader_that_stops_reading_is_let_go(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "STALLED_SECONDS", 0.3)
    first = daemon.get("/v1/events?limit=1000").json["items"][-1]["id"]
    for _ in range(9):
        daemon.execute("for (let i = 0; i < 100; i++) console.log('x'.repeat(9000))")
    wait_for(lambda: daemon.app.state.streams.streams.count == 0)
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect(("127.0.0.1", daemon.port))
        reader.sendall(
            f"GET /v1/events?after={first} HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\n"
            f"Authorization: Bearer {daemon.tokens.operator}\r\nAccept: text/event-stream\r\n\r\n".encode()
        )
        wait_for(lambda: daemon.app.state.streams.streams.count == 1)
        wait_for(lambda: daemon.app.state.streams.streams.count == 0)


def test_streams_end_when_the_daemon_stops(tmp_path: Path) -> None:
    ended = threading.Event()
    with running_daemon(tmp_path) as daemon:

        def read() -> None:
            with stream(daemon, "/v1/events") as live:
                for _ in live.frames():
                    pass
            ended.set()

        reader = threading.Thread(target=read)
        reader.start()
        wait_for(lambda: daemon.app.state.streams.streams.count == 1)
    assert ended.wait(120)
    reader.join(120)


def test_waits_end_when_the_daemon_stops_and_the_execution_goes_on_later(tmp_path: Path) -> None:
    answers: dict[str, Any] = {}
    with running_daemon(tmp_path) as daemon:
        slow = "await new Promise(r => setTimeout(r, 60000)); return 1"
        view = daemon.execute(slow, wait=0)

        def ask(name: str, method: str, path: str, body: Any = None) -> None:
            answers[name] = daemon.request(method, path, body)

        waits = [
            threading.Thread(target=ask, args=("get", "GET", f"/v1/executions/{view['executionId']}?wait=60")),
            threading.Thread(target=ask, args=("post", "POST", "/v1/executions", {"code": slow, "wait": 60})),
        ]
        for waiting in waits:
            waiting.start()
        wait_for(lambda: len(daemon.app.state.streams._waits) == 2)
    for waiting in waits:
        waiting.join(120)
    assert (answers["get"].status, answers["get"].json["status"]) == (200, "running")
    assert (answers["post"].status, answers["post"].json["status"]) == (201, "running")
    assert answers["post"].json["executionId"].startswith("exec_")


def test_a_stream_outlasts_a_database_that_fails_and_loses_nothing(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "TROUBLE_SECONDS", 0.05)
    database, is_down, failures = daemon.executor.database, threading.Event(), []
    read = database._read

    def fail(job: Any) -> Any:
        if is_down.is_set():
            failures.append(job)
            raise StorageError("the database is away", hint="wait")
        return read(job)

    monkeypatch.setattr(database, "_read", fail)
    first = daemon.execute("return 1")["executionId"]
    newest = daemon.get("/v1/events?limit=1000").json["items"][-1]["id"]
    workspace_id = daemon.executor.tenancy.workspace.id
    with stream(daemon, f"/v1/events?after={newest}") as live:
        frames = live.frames()
        assert next(frames)["comment"] == "connected"
        is_down.set()

        async def happen() -> None:
            await database.write(lambda c: events.append(c, workspace_id, "test.lost", {}, first))

        daemon.run(happen())
        assert any("trying again" in one.get("comment", "") for one in frames)
        is_down.clear()
        found = next(one for one in frames if "data" in one)
    assert failures
    assert json.loads(found["data"])["type"] == "test.lost"
