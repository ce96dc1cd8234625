"""Agents that nobody vouches for: what they can use up, of places and of the disk."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from executor.execution.quotas import OUTPUT_BYTES
from executor.identity import anonymous as sessions
from executor.model.ids import now_ms
from executor.storage.tables.access import anonymous_sessions
from executor.storage.tables.core import events, executions
from tests.support.conditions import wait_for
from tests.support.rate_limits import stop_rate_limit_clocks
from tests.support.tool_results import about
from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.api.identities import Caller, agent, anonymous, create_key, expect_created, invite, nobody, operator

SLOW = "await new Promise(done => setTimeout(done, 250000)); return 1"
LARGE = {
    "result": "return 'x'.repeat(200000)",
    "logs": "for (let i = 0; i < 20; i++) console.log('x'.repeat(9000) + i)",
    "code": f"return 1 // {'x' * 200_000}",
    "python": "return 'x' * 200000",
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    bounds: dict[str, Any] = {"anonymous_executions": 12, "anonymous_bytes": 10**6, "anonymous_bytes_all": 3 * 10**6}
    with running_daemon(tmp_path_factory.mktemp("strangers"), **bounds) as daemon:
        yield daemon


@pytest.fixture(autouse=True)
def clear_sessions(daemon: Daemon) -> Iterator[None]:
    yield
    assert operator(daemon).delete("/v1/anonymous").status == 204


def run_until_refused(caller: Caller, code: str, most: int, **body: Any) -> tuple[int, Any]:
    for number in range(most):
        answer = caller.post("/v1/executions", {"code": code, **body})
        if answer.status != 201:
            return number, answer
    raise AssertionError("nothing was refused")


def test_a_stranger_runs_so_many_executions_and_no_more(daemon: Daemon) -> None:
    caller, other = anonymous(daemon), anonymous(daemon)
    ran, refused = run_until_refused(caller, "return 1", 20)
    assert (ran, refused.status, refused.json["code"]) == (12, 403, "quota_exceeded")
    assert "agents create" in refused.json["hint"]
    over_mcp = call_over_mcp(caller, "return 1")
    assert over_mcp["error"]["code"] == "quota_exceeded"
    assert other.post("/v1/executions", {"code": "return 1"}).status == 201
    assert agent(daemon, "vouched for").post("/v1/executions", {"code": "return 1"}).status == 201


def call_over_mcp(caller: Caller, code: str) -> Any:
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    params = {"name": "execute", "arguments": {"code": code}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return about(caller.post("/mcp/anonymous", message, **headers).json["result"])


@pytest.mark.parametrize("what", LARGE)
def test_a_stranger_fills_its_quota_and_not_the_disk(daemon: Daemon, what: str) -> None:
    caller = anonymous(daemon)
    body = {"language": "python"} if what == "python" else {}
    ran, refused = run_until_refused(caller, LARGE[what], 12, **body)
    assert refused.json["code"] == "quota_exceeded"
    assert "bytes" in refused.json["detail"]
    assert 2 <= ran < 12
    [kept] = operator(daemon).get("/v1/anonymous").json["items"]
    assert (kept["executions"], kept["live"]) == (ran, 0)
    assert 1_000_000 <= kept["bytes"] < 3_000_000


def test_one_execution_of_a_stranger_returns_less(daemon: Daemon) -> None:
    view = expect_created(anonymous(daemon).post("/v1/executions", {"code": f"return 'x'.repeat({OUTPUT_BYTES})"}))
    assert view["status"] == "failed"
    assert expect_created(
        agent(daemon, "large").post("/v1/executions", {"code": f"return 'x'.repeat({OUTPUT_BYTES})"})
    )["result"]


def test_all_strangers_together_have_a_quota_too(daemon: Daemon) -> None:
    refusals = []
    for _ in range(6):
        _, refused = run_until_refused(anonymous(daemon), LARGE["result"], 12)
        refusals.append(refused.json["detail"])
    assert "all anonymous sessions" in refusals[-1]


def test_a_stranger_has_few_live_executions_paused_ones_included(daemon: Daemon) -> None:
    caller = anonymous(daemon)
    asks = 'return await tools.executor.sources.add({url: "http://127.0.0.1:9/none.json", namespace: "none"})'
    assert expect_created(caller.post("/v1/executions", {"code": asks}))["status"] == "paused"
    ran, refused = run_until_refused(caller, SLOW, 12, wait=0)
    assert (ran, refused.json["code"]) == (7, "quota_exceeded")
    begun = caller.get("/v1/executions?status=running").json["items"][0]["executionId"]
    assert caller.post(f"/v1/executions/{begun}/cancel").status == 200
    wait_for(lambda: caller.post("/v1/executions", {"code": "return 1"}).status == 201)


def test_what_is_used_is_known_after_a_restart(tmp_path: Any) -> None:
    with running_daemon(tmp_path, anonymous_executions=3) as daemon:
        caller = anonymous(daemon)
        assert run_until_refused(caller, "return 1", 9)[0] == 3
    with running_daemon(tmp_path, anonymous_executions=3) as daemon:
        assert Caller(daemon, "again", caller.token).post("/v1/executions", {"code": "return 1"}).status == 403


def test_the_operator_clears_sessions_and_everything_in_them(daemon: Daemon) -> None:
    caller, other = anonymous(daemon), anonymous(daemon)
    view = expect_created(caller.post("/v1/executions", {"code": SLOW, "wait": 0}))
    expect_created(other.post("/v1/executions", {"code": "return 1"}))
    mine = operator(daemon)
    [first, second] = mine.get("/v1/anonymous").json["items"]
    assert mine.delete(f"/v1/anonymous/{first['id']}").status == 204
    assert mine.delete(f"/v1/anonymous/{first['id']}").status == 404
    assert caller.get(f"/v1/executions/{view['executionId']}").status == 401
    assert other.get("/v1/auth/whoami").status == 200
    assert [one["id"] for one in mine.get("/v1/anonymous").json["items"]] == [second["id"]]

    def count_left(c: Any) -> list[int]:
        here = first["workspaceId"]
        counted = sa.select(sa.func.count())
        return [c.execute(counted.where(table.c.workspace_id == here)).scalar_one() for table in (executions, events)]

    assert daemon.run(daemon.executor.database.read(count_left)) == [0, 0]
    for refused in (agent(daemon, "curious"), invite(daemon, "owner"), create_key(daemon, "read"), other):
        assert refused.get("/v1/anonymous").status == 403
        assert refused.delete("/v1/anonymous").status == 403


def test_a_session_in_which_nothing_ran_lapses_and_one_with_work_stays(daemon: Daemon) -> None:
    idle, busy = anonymous(daemon), anonymous(daemon)
    expect_created(busy.post("/v1/executions", {"code": "return 1"}))
    at = now_ms() - sessions.IDLE_MS - 1

    def age(c: Any) -> None:
        c.execute(sa.update(anonymous_sessions).values(last_seen_at=at))

    daemon.run(daemon.executor.database.write(age))
    anonymous(daemon)
    assert idle.get("/v1/auth/whoami").status == 401
    assert busy.get("/v1/auth/whoami").status == 200


def test_starts_from_all_addresses_of_this_machine_count_as_one(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_rate_limit_clocks(daemon, monkeypatch)
    daemon.executor.anonymous.starts.clear()
    statuses = []
    for number in range(2, 2 + 3 * sessions.STARTS):
        near = (f"127.0.0.{number}", 0)
        client = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60, source_address=near)
        with closing(client):
            client.request("POST", "/v1/auth/anonymous/bootstrap", b"{}", {"Content-Type": "application/json"})
            statuses.append(client.getresponse().status)
    daemon.executor.anonymous.starts.clear()
    assert statuses.count(201) <= sessions.STARTS + 1
    assert statuses[-1] == 429


def test_new_tokens_without_end_are_refused(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_rate_limit_clocks(daemon, monkeypatch)
    daemon.executor.anonymous.starts.clear()
    session = {"sessionId": expect_created(nobody(daemon).post("/v1/auth/anonymous/bootstrap"))["sessionId"]}
    statuses = [nobody(daemon).post("/v1/auth/anonymous/token", session).status for _ in range(sessions.RENEWALS + 5)]
    assert statuses[-1] == 429


def open_stream(caller: Caller, path: str, stack: ExitStack) -> int:
    client = http.client.HTTPConnection("127.0.0.1", caller.daemon.port, timeout=60)
    stack.callback(client.close)
    client.request("GET", path, headers={"Authorization": f"Bearer {caller.token}", "Accept": "text/event-stream"})
    answer = client.getresponse()
    stack.callback(answer.close)
    return answer.status


def test_no_ones_streams_starve_the_humans(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """`Shares`: of one actor, of all strangers, and places for humans alone."""
    streams = daemon.app.state.streams.streams
    wait_for(lambda: streams.count == 0)
    monkeypatch.setattr(streams, "bounds", replace(streams.bounds, all=24, humans=4, strangers=6, of_program=16))
    with ExitStack() as stack:
        opened = []
        for _ in range(3):
            stranger = anonymous(daemon)
            begun = expect_created(stranger.post("/v1/executions", {"code": SLOW, "wait": 0}))["executionId"]
            path = f"/v1/executions/{begun}/events"
            opened.append([open_stream(stranger, path, stack) for _ in range(5)].count(200))
        assert opened == [4, 2, 0]
        programs = [create_key(daemon, "read"), create_key(daemon, "read", by=invite(daemon, "member"))]
        assert [open_stream(programs[0], "/v1/events", stack) for _ in range(18)].count(200) == 14
        assert open_stream(programs[1], "/v1/events", stack) == 503
        assert [open_stream(operator(daemon), "/v1/events", stack) for _ in range(4)] == [200] * 4
    wait_for(lambda: streams.count == 0)


def test_a_stranger_waits_in_few_places_and_its_submission_is_answered_all_the_same(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = daemon.app.state.streams.waits
    monkeypatch.setattr(waits, "bounds", replace(waits.bounds, of_stranger=0))
    caller = anonymous(daemon)
    begun = expect_created(caller.post("/v1/executions", {"code": SLOW, "wait": 600}))
    assert begun["status"] == "running"
    refused = caller.get(f"/v1/executions/{begun['executionId']}?wait=600")
    assert (refused.status, refused.json["code"]) == (503, "busy")
    assert json.loads(caller.get(f"/v1/executions/{begun['executionId']}").body)["status"] == "running"
