"""A client that cancels a call, or closes it, ends what the call began; nobody else can."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import pytest

from executor.execution.submissions import Submission
from executor.surfaces.mcp import gateway
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon, Upstream, running_daemon
from tests.surfaces.api.identities import agent
from tests.surfaces.mcp.conftest import about, connect_client, text_of
from tests.surfaces.mcp.tool_call import SESSION, SentCall, cancel, execution_with, is_left_alone, open_calls, status_of

LONG = {
    "typescript": "await new Promise(r => setTimeout(r, 55000)); return '{}'",
    "python": "import asyncio\nawait asyncio.sleep(55)\nreturn '{}'",
}
WRITE = 'return await tools.shop.things.createThing({{name: "{}"}})'
ROADS: dict[str, dict[str, Any]] = {"plain": {}, "sdk": {"unknown": 1}}


@pytest.fixture
def mark() -> str:
    return uuid4().hex


def execute(daemon: Daemon, mark: str, language: str = "typescript", **options: Any) -> tuple[SentCall, str]:
    code = {"code": LONG[language].format(mark), "language": language}
    call = SentCall(daemon, "execute", code, **options)
    return call, execution_with(daemon, mark)


def wait_until_cancelled(daemon: Daemon, execution_id: str) -> None:
    wait_for(lambda: status_of(daemon, execution_id) == "cancelled")


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("language", LONG)
def test_a_notification_stops_the_code_and_the_call_is_answered(
    daemon: Daemon, mark: str, language: str, road: str
) -> None:
    call, execution_id = execute(daemon, mark, language, **ROADS[road])
    assert cancel(daemon, reason="User pressed Esc") == 202
    result = call.answer()
    assert about(result) == {"executionId": execution_id, "status": "cancelled", "error": {"code": "cancelled"}}
    assert text_of(result).startswith("cancelled: ")


@pytest.mark.parametrize("number", ["a-uuid", 12345678901234567890, ""])
def test_any_request_id_can_be_cancelled(daemon: Daemon, mark: str, number: Any) -> None:
    call, _ = execute(daemon, mark, number=number)
    cancel(daemon, number)
    assert about(call.answer())["status"] == "cancelled"


@pytest.mark.parametrize("road", ROADS)
def test_cancelling_a_wait_withdraws_the_approval(daemon: Daemon, shop: list[Any], mark: str, road: str) -> None:
    before = len(shop)
    paused = SentCall(daemon, "execute", {"code": WRITE.format(mark)}).answer()
    asked, execution = about(paused)["interactions"][0]["id"], {"executionId": about(paused)["executionId"]}
    call = SentCall(daemon, "resume", execution, number="wait", **ROADS[road])
    wait_for(lambda: cancel(daemon, "wait") and status_of(daemon, execution["executionId"]) == "cancelled")
    assert about(call.answer())["status"] == "cancelled"
    assert daemon.get(f"/v1/interactions/{asked}").json["status"] == "cancelled"
    assert daemon.post(f"/v1/interactions/{asked}/approve", {}).status == 409
    assert len(shop) == before


def test_nobody_else_cancels_a_call(daemon: Daemon, mark: str) -> None:
    call, execution_id = execute(daemon, mark)
    other = agent(daemon, f"other {mark}").token
    assert cancel(daemon, role=other or "") == 202
    assert cancel(daemon, role="operator") == 202
    assert cancel(daemon, session="two") == 202
    assert cancel(daemon, "7") == 202
    assert cancel(daemon, 8) == 202
    assert cancel(daemon, role="nonsense") == 401
    assert is_left_alone(daemon, execution_id)
    cancel(daemon)
    assert about(call.answer())["executionId"] == execution_id


def test_of_two_calls_that_can_not_be_told_apart_neither_is_cancelled(daemon: Daemon, mark: str) -> None:
    """Clients that say no session and share a token count from the same number."""
    calls = [execute(daemon, f"{mark}{letter}", headers={"Mcp-Session-Id": "shared"}) for letter in "ab"]
    assert cancel(daemon, session="shared") == 202
    assert all(is_left_alone(daemon, execution_id) for _, execution_id in calls)
    calls[0][0].close()
    wait_until_cancelled(daemon, calls[0][1])
    wait_for(lambda: cancel(daemon, session="shared") and status_of(daemon, calls[1][1]) == "cancelled")
    assert about(calls[1][0].answer())["status"] == "cancelled"


@pytest.mark.parametrize(
    "reason",
    ["timed out after 5.0s", "McpError: MCP error -32001: Request timed out", "TimeoutError: aborted due to timeout"],
)
def test_a_client_that_reached_its_time_limit_finds_the_execution_again(daemon: Daemon, mark: str, reason: str) -> None:
    call, execution_id = execute(daemon, mark)
    assert cancel(daemon, reason=reason) == 202
    assert is_left_alone(daemon, execution_id)
    listed = SentCall(daemon, "resume", {}, number=8).answer()
    assert {"executionId": execution_id, "status": "running"} in about(listed)["executions"]
    cancel(daemon, reason="now really")
    assert about(call.answer())["status"] == "cancelled"


@pytest.mark.parametrize("params", [None, {}, {"requestId": None}, {"requestId": [7]}, {"requestId": 7.5}])
def test_a_notification_that_names_no_request_changes_nothing(daemon: Daemon, params: Any) -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", **({} if params is None else {"params": params})}
    headers = {"Accept": "application/json, text/event-stream", **SESSION}
    assert daemon.post("/mcp", message, role="agent", headers=headers).status in (202, 400)


def test_an_execution_can_be_cancelled_before_its_first_write(daemon: Daemon) -> None:
    """Code runs while its row is still on its way: a cancellation must not miss it."""
    engine, actor = daemon.executor.engine, daemon.executor.tenancy.agent

    async def submit_and_cancel() -> str:
        submitted = await engine.begin(actor, Submission(LONG["typescript"].format("early")))
        return (await engine.cancel(actor, submitted.execution_id, grace=30.0)).status

    assert daemon.run(submit_and_cancel()) == "cancelled"


def test_whoever_waits_for_the_journal_outlasts_a_run_that_is_cancelled(daemon: Daemon) -> None:
    engine, actor = daemon.executor.engine, daemon.executor.tenancy.agent

    async def wait_twice() -> str:
        submitted = await engine.begin(actor, Submission(LONG["typescript"].format("twice")))
        journal = engine._dispatch.runs[submitted.execution_id].journal
        first, second = (asyncio.create_task(journal.durable()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await second
        return (await engine.cancel(actor, submitted.execution_id)).status

    assert daemon.run(wait_twice()) == "cancelled"


# -- closed requests --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("language", LONG)
def test_closing_the_request_stops_the_code(daemon: Daemon, mark: str, language: str, road: str) -> None:
    call, execution_id = execute(daemon, mark, language, **ROADS[road])
    call.close()
    wait_until_cancelled(daemon, execution_id)


def test_a_submission_that_has_a_key_may_be_sent_again_after_its_connection_broke(
    daemon: Daemon, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway, "RETRY_SECONDS", 3600.0)
    meta = {"executor/idempotencyKey": mark}
    call, execution_id = execute(daemon, mark, meta=meta)
    call.close()
    wait_for(lambda: execution_id in open_calls(daemon)._timers)
    again, found = execute(daemon, mark, meta=meta)
    assert found == execution_id
    wait_for(lambda: open_calls(daemon)._followed[execution_id])
    assert execution_id not in open_calls(daemon)._timers
    wait_for(lambda: cancel(daemon) and status_of(daemon, execution_id) == "cancelled")
    assert about(again.answer())["status"] == "cancelled"


def test_a_submission_that_has_a_key_and_is_not_sent_again_is_stopped(
    daemon: Daemon, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway, "RETRY_SECONDS", 0.1)
    call, execution_id = execute(daemon, mark, meta={"idempotencyKey": mark})
    call.close()
    wait_until_cancelled(daemon, execution_id)


def test_closing_one_of_two_waits_stops_nothing(daemon: Daemon, mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "RETRY_SECONDS", 3600.0)
    meta = {"idempotencyKey": mark}
    first, execution_id = execute(daemon, mark, meta=meta, number=1)
    second = SentCall(daemon, "resume", {"executionId": execution_id}, number=2)
    calls = open_calls(daemon)
    wait_for(lambda: calls._followed[execution_id] == 2)
    first.close()
    wait_for(lambda: calls._followed[execution_id] == 1)
    assert execution_id not in calls._timers
    cancel(daemon, 2)
    assert about(second.answer())["status"] == "cancelled"


def test_closing_a_wait_leaves_the_approval_to_be_decided(daemon: Daemon, shop: list[Any], mark: str) -> None:
    """It began nothing: an agent may end its turn and come back, and some clients close after a few seconds."""
    paused = SentCall(daemon, "execute", {"code": WRITE.format(mark)}).answer()
    execution = {"executionId": about(paused)["executionId"]}
    calls = open_calls(daemon)
    waiting = SentCall(daemon, "resume", execution)
    wait_for(lambda: calls._followed[execution["executionId"]])
    waiting.close()
    wait_for(lambda: not calls._followed[execution["executionId"]])
    assert daemon.post(f"/v1/interactions/{about(paused)['interactions'][0]['id']}/approve", {}).status == 200
    assert mark in text_of(SentCall(daemon, "resume", execution).answer())


def test_a_daemon_that_stops_cancels_nothing(tmp_path: Path, mark: str) -> None:
    with running_daemon(tmp_path) as daemon:
        call, execution_id = execute(daemon, mark)
    assert about(call.answer())["executionId"] == execution_id
    with running_daemon(tmp_path) as daemon:
        assert status_of(daemon, execution_id) in ("queued", "running")
        daemon.post(f"/v1/executions/{execution_id}/cancel")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_stops_the_code_when_its_caller_gives_up(
    daemon: Daemon, mark: str, mode: str
) -> None:
    was_stopped = False
    try:
        async with connect_client(daemon, mode=mode) as client:
            asked = asyncio.create_task(client.call_tool("execute", {"code": LONG["typescript"].format(mark)}))
            execution_id = await asyncio.to_thread(execution_with, daemon, mark)
            asked.cancel()
            await asyncio.to_thread(wait_until_cancelled, daemon, execution_id)
            was_stopped = True
            await asyncio.gather(asked, return_exceptions=True)
    except* (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # while it closes, the client may write to what it has closed
    assert was_stopped


# -- writes under way -------------------------------------------------------------------------------------------------


class SlowUpstream(Upstream):
    """A write is answered when the test says so."""

    gate: threading.Event
    arrived: threading.Event

    def do_POST(self) -> None:  # noqa: N802 - the server's name for it
        if self.path == "/things":  # a new source is asked in other ways too
            self.arrived.set()
            self.gate.wait(60)
        super().do_POST()


@pytest.fixture
def slow(daemon: Daemon, mark: str) -> Iterator[type[SlowUpstream]]:
    made: list[Any] = []
    parts = {"made": made, "gate": threading.Event(), "arrived": threading.Event()}
    handler = type("Handler", (SlowUpstream,), parts)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    namespace = f"slow{mark}"
    assert daemon.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": namespace}).status == 201
    assert daemon.post("/v1/policies", {"pattern": f"{namespace}.**", "action": "allow"}).status == 201
    try:
        yield handler
    finally:
        handler.gate.set()
        daemon.request("DELETE", f"/v1/sources/{namespace}")
        server.shutdown()
        server.server_close()
        thread.join(120)


TWO_WRITES = {
    "typescript": 'for (const name of ["a", "b"]) await tools.{0}.things.createThing({{name}})',
    "python": 'await tools.{0}.things.createThing(name="a")\nawait tools.{0}.things.createThing(name="b")',
}


@pytest.mark.parametrize("language", TWO_WRITES)
@pytest.mark.parametrize("how", ["notified", "closed"])
def test_a_write_that_was_sent_is_answered_first_and_no_other_follows(
    daemon: Daemon, slow: type[SlowUpstream], mark: str, language: str, how: str
) -> None:
    code = TWO_WRITES[language].format(f"slow{mark}")
    call = SentCall(daemon, "execute", {"code": code, "language": language})
    execution_id = execution_with(daemon, mark)
    assert slow.arrived.wait(60)
    if how == "closed":
        call.close()
    else:
        cancel(daemon)
    run = daemon.executor.engine._dispatch.runs[execution_id]
    wait_for(lambda: run._stopping)
    assert status_of(daemon, execution_id) == "running"
    slow.gate.set()
    wait_until_cancelled(daemon, execution_id)
    if how == "notified":
        assert about(call.answer())["status"] == "cancelled"
    view = daemon.get(f"/v1/executions/{execution_id}?include=calls").json
    assert [one["state"] for one in view["calls"]] == ["succeeded"]
    assert "unknownOutcomes" not in view["error"]
    assert [one for one in slow.made if "name" in one] == [{"name": "a"}]


def test_a_write_that_is_never_answered_is_named(
    daemon: Daemon, slow: type[SlowUpstream], mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway, "CANCEL_GRACE", 0.1)
    call = SentCall(daemon, "execute", {"code": TWO_WRITES["typescript"].format(f"slow{mark}")})
    assert slow.arrived.wait(60)
    cancel(daemon)
    assert f"slow{mark}.things.createThing" in text_of(call.answer())
