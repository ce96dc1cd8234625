"""A call that takes its time says so to clients that asked for it."""

from __future__ import annotations

import json
from http.client import IncompleteRead
from typing import Any
from uuid import uuid4

import pytest

from executor.surfaces.mcp import gateway
from executor.surfaces.mcp.streams import progress
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.api.identities import agent
from tests.surfaces.mcp.conftest import about, connect_client, text_of
from tests.surfaces.mcp.test_malformed_requests import modern_request
from tests.surfaces.mcp.tool_call import SentCall, cancel, execution_with, status_of

ROADS: dict[str, dict[str, Any]] = {"plain": {}, "sdk": {"unknown": 1}}
SLOW = {
    "typescript": "await new Promise(r => setTimeout(r, 400)); return ['a\\nb', 'late']",
    "python": "import asyncio\nawait asyncio.sleep(0.4)\nreturn ['a\\nb', 'late']",
}
WRITE = 'return await tools.shop.things.createThing({name: "lamp"})'


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PROGRESS_SECONDS", 0.02)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("token", ["mine", 0])
@pytest.mark.parametrize("language", SLOW)
def test_a_run_reports_until_its_answer_comes_last(daemon: Daemon, road: str, token: Any, language: str) -> None:
    arguments = {"code": SLOW[language], "language": language}
    *reports, last = SentCall(daemon, "execute", arguments, meta={"progressToken": token}, **ROADS[road]).messages()
    assert reports and last["id"] == 7
    assert {report["method"] for report in reports} == {"notifications/progress"}
    assert {report["params"]["progressToken"] for report in reports} == {token}
    values = [report["params"]["progress"] for report in reports]
    assert values == sorted(set(values))
    assert reports[0]["params"]["message"] == "The code is running."
    assert text_of(last["result"]) == '["a\\nb","late"]'


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("road", ROADS)
def test_a_wait_for_a_decision_reports_too(
    daemon: Daemon, shop: list[Any], road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway, "WAIT_SECONDS", 0.4)
    paused = SentCall(daemon, "execute", {"code": WRITE}, meta={"progressToken": 1}).answer()
    execution = {"executionId": about(paused)["executionId"]}
    *reports, last = SentCall(daemon, "resume", execution, meta={"progressToken": 1}, **ROADS[road]).messages()
    assert reports and "decision" in reports[0]["params"]["message"]
    assert about(last["result"])["status"] == "paused"


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize(
    ("meta", "headers"),
    [
        ({}, {}),
        ({"progressToken": True}, {}),
        ({"progressToken": [1]}, {}),
        ({"progressToken": 1}, {"Accept": "application/json"}),
    ],
)
def test_who_did_not_ask_or_can_not_read_it_gets_the_answer_alone(
    daemon: Daemon, meta: dict[str, Any], headers: dict[str, str]
) -> None:
    [answer] = SentCall(daemon, "execute", {"code": SLOW["typescript"]}, meta=meta, headers=headers).messages()
    assert answer.keys() & {"result", "error"}


def test_a_quick_answer_is_plain_json(daemon: Daemon) -> None:
    [answer] = SentCall(daemon, "execute", {"code": "return 1"}, meta={"progressToken": 1}).messages()
    assert text_of(answer["result"]) == "1"


@pytest.mark.usefixtures("often")
def test_the_newest_revision_reports_as_well(daemon: Daemon) -> None:
    message, headers = modern_request("tools/call", {"name": "execute", "arguments": {"code": SLOW["typescript"]}})
    message["params"]["_meta"] |= {"progressToken": "p"}
    answer = daemon.post("/mcp", message, role="agent", headers=headers)
    assert answer.headers["content-type"] == "text/event-stream"
    assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")
    sent = [json.loads(line[6:]) for line in answer.body.decode().splitlines() if line.startswith("data: ")]
    assert sent[0]["params"]["progressToken"] == "p" and "late" in text_of(sent[-1]["result"])


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_hears_of_it(daemon: Daemon, mode: str) -> None:
    heard: list[float] = []

    async def hear(value: float, total: float | None, message: str | None) -> None:
        heard.append(value)

    async with connect_client(daemon, mode=mode) as client:
        result = await client.call_tool("execute", {"code": SLOW["typescript"]}, progress_callback=hear)
    assert heard and "late" in text_of(result)


@pytest.mark.usefixtures("often")
def test_a_call_that_reports_is_cancelled_like_any_other(daemon: Daemon) -> None:
    code = {"code": f"await new Promise(r => setTimeout(r, 55000)); return '{(mark := uuid4().hex)}'"}
    call = SentCall(daemon, "execute", code, number="reports", meta={"progressToken": 1})
    execution_with(daemon, mark)
    cancel(daemon, "reports")
    assert about(call.answer())["status"] == "cancelled"


@pytest.mark.usefixtures("often")
def test_a_credential_that_ends_breaks_the_stream_off(daemon: Daemon) -> None:
    caller = agent(daemon, "revoked while it reports")
    code = {"code": f"await new Promise(r => setTimeout(r, 55000)); return '{(mark := uuid4().hex)}'"}
    call = SentCall(daemon, "execute", code, role=caller.token or "", meta={"progressToken": 1})
    execution_id = execution_with(daemon, mark)
    named = next(one for one in daemon.get("/v1/agents").json["items"] if one["name"] == caller.name)
    with pytest.raises((IncompleteRead, OSError)) as broken, call.response() as response:
        assert response.readline() == b"event: message\n"
        assert daemon.request("DELETE", f"/v1/agents/{named['id']}").status in (200, 204)
        response.read()
    assert b'"result"' not in getattr(broken.value, "partial", b"")
    assert status_of(daemon, execution_id) == "running"  # what it submitted before goes on
    assert daemon.post(f"/v1/executions/{execution_id}/cancel").status == 200
