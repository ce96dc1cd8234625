from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon


def test_code_is_run_and_its_result_comes_back_as_a_json_value(daemon: Daemon) -> None:
    answer = daemon.post("/v1/executions", {"code": "return {sum: 1 + 1, text: 'é', nothing: null}"}, role="agent")
    assert answer.status == 201
    view = answer.json
    assert answer.headers["location"] == f"/v1/executions/{view['executionId']}"
    assert view["status"] == "completed"
    assert view["result"] == {"sum": 2, "text": "é", "nothing": None}
    assert view["error"] is None
    assert view["interactions"] == []
    assert view["createdAt"] <= view["finishedAt"]


def test_logs_come_with_the_outcome_and_alone(daemon: Daemon) -> None:
    view = daemon.execute("console.log('one'); console.warn('two'); return 1")
    assert [(line["level"], line["text"]) for line in view["logs"]] == [("log", "one"), ("warn", "two")]
    alone = daemon.get(f"/v1/executions/{view['executionId']}/logs").json["items"]
    assert [(line["level"], line["text"]) for line in alone] == [("log", "one"), ("warn", "two")]


def test_a_failure_carries_code_message_and_place(daemon: Daemon) -> None:
    view = daemon.execute("const a = 1;\nthrow new Error('boom')")
    assert view["status"] == "failed"
    assert view["error"]["code"] == "code_error"
    assert "boom" in view["error"]["message"]
    assert view["error"]["line"] == 2


@pytest.mark.parametrize(("code", "expected"), [("", "empty_code"), ("   \n", "empty_code")])
def test_code_that_is_no_code_is_refused(daemon: Daemon, code: str, expected: str) -> None:
    answer = daemon.post("/v1/executions", {"code": code})
    assert (answer.status, answer.json["code"]) == (400, expected)


def test_an_unknown_language_names_the_known_ones(daemon: Daemon) -> None:
    answer = daemon.post("/v1/executions", {"code": "1", "language": "cobol"})
    assert (answer.status, answer.json["code"]) == (400, "unknown_runtime")
    assert "typescript" in answer.json["hint"]


def test_without_waiting_the_answer_comes_at_once_and_the_outcome_later(daemon: Daemon) -> None:
    view = daemon.execute("await new Promise(r => setTimeout(r, 300)); return 7", wait=0)
    assert view["status"] in ("queued", "running")
    later = daemon.get(f"/v1/executions/{view['executionId']}?wait=60").json
    assert (later["status"], later["result"]) == ("completed", 7)


def test_a_time_limit_ends_the_execution(daemon: Daemon) -> None:
    view = daemon.execute("await new Promise(r => setTimeout(r, 20000)); return 7", timeoutMs=200)
    assert (view["status"], view["error"]["code"]) == ("failed", "wall_limit")


def test_code_and_calls_are_shown_when_asked_for(daemon: Daemon, shop: list[Any]) -> None:
    code = "return await tools.shop.things.listThings({})"
    view = daemon.execute(code)
    shown = daemon.get(f"/v1/executions/{view['executionId']}?include=calls,code").json
    assert shown["code"] == code
    assert [(call["path"], call["state"]) for call in shown["calls"]] == [("shop.things.listThings", "succeeded")]
    assert shown["calls"][0]["result"] == view["result"]
    assert daemon.get(f"/v1/executions/{view['executionId']}/calls").json["items"] == shown["calls"]
    assert "code" not in daemon.get(f"/v1/executions/{view['executionId']}").json


def test_executions_are_listed_newest_first_page_by_page(daemon: Daemon) -> None:
    made = [daemon.execute(f"return {number}")["executionId"] for number in range(3)]
    first = daemon.get("/v1/executions?limit=2").json
    assert [item["executionId"] for item in first["items"]] == [made[2], made[1]]
    second = daemon.get(f"/v1/executions?limit=1&before={first['next']}").json
    assert [item["executionId"] for item in second["items"]] == [made[0]]
    failed = daemon.execute("throw new Error('x')")["executionId"]
    found = daemon.get("/v1/executions?status=failed").json["items"]
    assert found[0]["executionId"] == failed
    assert {item["status"] for item in found} == {"failed"}


def test_resume_waits_for_the_decision_and_then_for_the_outcome(daemon: Daemon, paused: Any) -> None:
    answers: list[Any] = []
    path = f"/v1/executions/{paused['executionId']}/resume"
    waiting = threading.Thread(target=lambda: answers.append(daemon.post(path, {"wait": 30}, role="agent")))
    waiting.start()
    approved = daemon.post(f"/v1/interactions/{paused['interactions'][0]['id']}/approve", {})
    waiting.join(120)
    assert approved.status == 200
    assert answers[0].json["status"] == "completed"
    assert answers[0].json["result"]["name"] == "lamp"
    again = daemon.post(path, {"wait": 30}, role="agent").json
    assert again == answers[0].json


def test_resume_of_a_paused_execution_decides_nothing(daemon: Daemon, paused: Any, shop: list[Any]) -> None:
    before = len(shop)
    for role in ("agent", "operator"):
        view = daemon.post(f"/v1/executions/{paused['executionId']}/resume", {"wait": 0}, role=role).json
        assert view["status"] == "paused"
    assert len(shop) == before


def test_resume_takes_no_decision_from_its_body(daemon: Daemon, paused: Any) -> None:
    for body in ({"approve": True}, {"action": "accept"}, {"wait": 0, "decision": "approve"}):
        answer = daemon.post(f"/v1/executions/{paused['executionId']}/resume", body, role="agent")
        assert answer.status == 400
    assert daemon.get(f"/v1/executions/{paused['executionId']}").json["status"] == "paused"


def test_an_execution_can_be_cancelled_once(daemon: Daemon, paused: Any) -> None:
    path = f"/v1/executions/{paused['executionId']}/cancel"
    assert daemon.post(path, role="agent").json["status"] == "cancelled"
    again = daemon.post(path)
    assert (again.status, again.json["code"]) == (409, "conflict")
    interaction = daemon.get(f"/v1/interactions/{paused['interactions'][0]['id']}").json
    assert interaction["status"] == "cancelled"


def test_an_agent_can_neither_see_nor_cancel_what_the_operator_submitted(daemon: Daemon) -> None:
    view = daemon.execute("await new Promise(r => setTimeout(r, 60000))", role="operator", wait=0)
    path = f"/v1/executions/{view['executionId']}/cancel"
    assert daemon.post(path, role="agent").status == 404
    assert daemon.get(path.removesuffix("/cancel"), role="agent").status == 404
    assert daemon.post(path, role="operator").json["status"] == "cancelled"


def test_a_finished_execution_replays_to_the_same_outcome(daemon: Daemon) -> None:
    view = daemon.execute("return Math.random()")
    assert daemon.post(f"/v1/executions/{view['executionId']}/replay").json["matches"] is True


def test_a_client_that_hangs_up_does_not_end_its_execution(daemon: Daemon) -> None:
    import http.client
    import json

    code = "await new Promise(r => setTimeout(r, 400)); return 'survived'"
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=120)
    headers = {"Authorization": f"Bearer {daemon.tokens.agent}", "Content-Type": "application/json"}
    before = daemon.get("/v1/executions?limit=1").json["items"][0]["executionId"]
    connection.request("POST", "/v1/executions", json.dumps({"code": code}), headers)

    def newest() -> Any:
        found = daemon.get("/v1/executions?limit=1").json["items"][0]
        return found if found["executionId"] != before else None

    execution_id = wait_for(newest)["executionId"]
    connection.close()
    outcome = daemon.get(f"/v1/executions/{execution_id}?wait=60").json
    assert (outcome["status"], outcome["result"]) == ("completed", "survived")


def test_many_clients_get_their_own_results(daemon: Daemon) -> None:
    results: dict[int, Any] = {}

    def run(number: int) -> None:
        results[number] = daemon.execute(f"return {number} * 2")["result"]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == {number: number * 2 for number in range(24)}
