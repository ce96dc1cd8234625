from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.surfaces.api.daemon_server import Daemon


def first_interaction(view: Any) -> str:
    return str(view["interactions"][0]["id"])


def test_a_pause_says_exactly_what_is_asked(daemon: Daemon, paused: Any) -> None:
    approval = paused["interactions"][0]
    assert approval["tool"] == "shop.things.createThing"
    assert approval["arguments"] == {"name": "lamp"}
    assert approval["effect"] == "write"
    assert approval["kind"] == "approval"
    assert approval["status"] == "pending"
    assert approval["executionId"] == paused["executionId"]
    assert approval["url"] == f"{daemon.url}/approvals/{approval['id']}"
    assert approval["host"].startswith("http://127.0.0.1:")
    assert approval["expiresAt"] > approval["createdAt"]
    for shown in ("shop.things.createThing", '"name": "lamp"', "write", approval["host"]):
        assert shown in approval["prompt"]


def test_approving_lets_the_call_happen_once(daemon: Daemon, paused: Any, shop: list[Any]) -> None:
    before = len(shop)
    settled = daemon.post(f"/v1/interactions/{first_interaction(paused)}/approve", {})
    assert (settled.status, settled.json["status"]) == (200, "approved")
    outcome = daemon.get(f"/v1/executions/{paused['executionId']}?wait=60").json
    assert outcome["status"] == "completed"
    assert len(shop) == before + 1


def test_approving_twice_is_refused(daemon: Daemon, paused: Any) -> None:
    path = f"/v1/interactions/{first_interaction(paused)}/approve"
    assert daemon.post(path).status == 200
    again = daemon.post(path)
    assert (again.status, again.json["code"]) == (409, "already_settled")
    assert daemon.get(f"/v1/executions/{paused['executionId']}?wait=60").json["status"] == "completed"


def test_of_two_that_decide_at_once_one_is_refused(daemon: Daemon, paused: Any, shop: list[Any]) -> None:
    before = len(shop)
    gate = threading.Barrier(8)
    answers: list[int] = []

    def decide(act: str) -> None:
        gate.wait()
        answers.append(daemon.post(f"/v1/interactions/{first_interaction(paused)}/{act}").status)

    threads = [threading.Thread(target=decide, args=(act,)) for act in ("approve", "deny") * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(answers) == [200] + [409] * 7
    daemon.get(f"/v1/executions/{paused['executionId']}?wait=60")
    assert len(shop) - before in (0, 1)


def test_denying_reaches_the_code_with_the_reason(daemon: Daemon, paused: Any, shop: list[Any]) -> None:
    before = len(shop)
    denied = daemon.post(f"/v1/interactions/{first_interaction(paused)}/deny", {"reason": "not on Sundays"})
    assert denied.json["status"] == "denied"
    assert denied.json["decisionReason"] == "not on Sundays"
    outcome = daemon.get(f"/v1/executions/{paused['executionId']}?wait=60").json
    assert (outcome["status"], outcome["error"]["code"]) == ("failed", "denied")
    assert "not on Sundays" in str(outcome["error"])
    assert len(shop) == before


@pytest.mark.parametrize("act", ["approve", "deny"])
def test_the_agent_decides_nothing(daemon: Daemon, paused: Any, act: str) -> None:
    assert daemon.post(f"/v1/interactions/{first_interaction(paused)}/{act}", {}, role="agent").status == 403
    assert daemon.get(f"/v1/interactions/{first_interaction(paused)}").json["status"] == "pending"


def test_deciding_after_a_cancel_is_refused(daemon: Daemon, paused: Any, shop: list[Any]) -> None:
    before = len(shop)
    daemon.post(f"/v1/executions/{paused['executionId']}/cancel")
    answer = daemon.post(f"/v1/interactions/{first_interaction(paused)}/approve")
    assert (answer.status, answer.json["code"]) == (409, "already_settled")
    assert len(shop) == before


def test_a_result_is_only_taken_for_an_unknown_outcome(daemon: Daemon, paused: Any) -> None:
    answer = daemon.post(f"/v1/interactions/{first_interaction(paused)}/approve", {"result": {"id": 1}})
    assert (answer.status, answer.json["code"]) == (400, "invalid_request")


def test_an_unknown_interaction_is_not_found(daemon: Daemon) -> None:
    for answer in (
        daemon.get("/v1/interactions/int_unknown"),
        daemon.post("/v1/interactions/int_unknown/approve"),
        daemon.post("/v1/interactions/int_unknown/deny"),
    ):
        assert (answer.status, answer.json["code"]) == (404, "not_found")


def test_interactions_are_listed_by_status_and_execution(daemon: Daemon, paused: Any) -> None:
    pending = daemon.get("/v1/interactions?status=pending").json["items"]
    assert first_interaction(paused) in [item["id"] for item in pending]
    own = daemon.get(f"/v1/interactions?executionId={paused['executionId']}").json["items"]
    assert [item["id"] for item in own] == [first_interaction(paused)]
    alone = daemon.get(f"/v1/interactions/{first_interaction(paused)}").json
    assert {**own[0], "outdated": None} == alone  # which compares it with what would be sent now


def test_the_approvals_page_is_the_same_for_ids_that_do_not_exist(daemon: Daemon, paused: Any) -> None:
    unknown = "int_" + "a" * (len(first_interaction(paused)) - 4)
    real, made_up = (daemon.get(f"/approvals/{name}", role=None) for name in (first_interaction(paused), unknown))
    assert real.body.replace(first_interaction(paused).encode(), b"") == made_up.body.replace(unknown.encode(), b"")


def test_an_approval_names_the_policy_that_asked_and_where_the_code_came_from(daemon: Daemon, shop: list[Any]) -> None:
    policy = daemon.post("/v1/policies", {"pattern": "shop.**", "action": "require_approval", "effect": "write"}).json
    view = daemon.execute('await tools.shop.things.createThing({name: "lamp"})')
    approval = daemon.get(f"/v1/interactions/{first_interaction(view)}").json
    assert (approval["policyId"], approval["callSeq"]) == (policy["id"], 1)
    assert approval["origin"].startswith("agent_token") and approval["origin"].endswith("127.0.0.1")
    daemon.request("DELETE", f"/v1/policies/{policy['id']}")
    again = daemon.execute('await tools.shop.things.createThing({name: "lamp"})')
    assert again["interactions"][0]["policyId"] is None


def test_approvals_are_counted_and_narrowed_by_actor_and_source(daemon: Daemon, paused: Any) -> None:
    def page(**wanted: str) -> Any:
        query = "&".join(f"{name}={value}" for name, value in {"status": "pending", "limit": "1", **wanted}.items())
        return daemon.get(f"/v1/interactions?{query}").json

    daemon.execute('await tools.shop.things.createThing({name: "rug"})')
    every = page()
    assert len(every["items"]) == 1 and every["total"] >= 2
    assert page(actor="agent", source="shop")["total"] == every["total"]
    assert page(actor="operator")["total"] == 0
    assert daemon.get("/v1/interactions?actor=nobody").status == 400
    one = daemon.get(f"/v1/interactions?executionId={paused['executionId']}").json
    assert (len(one["items"]), one["total"]) == (1, 1)


def test_always_covers_the_very_call_the_tool_or_its_source(daemon: Daemon, paused: Any) -> None:
    def draft(covers: str) -> Any:
        return daemon.get(f"/v1/interactions/{first_interaction(paused)}/rule?covers={covers}").json

    call = draft("call")["rule"]
    assert call["conditions"] == [{"path": "", "test": "equals", "value": {"name": "lamp"}}]
    assert 'when arguments={"name":"lamp"}' in call["text"]
    source = draft("source")
    assert (source["rule"]["pattern"], source["rule"]["effect"]) == ("shop.**", "write")
    assert draft("everything")["code"] == "invalid_request"
    names = ("pattern", "action", "conditions", "note", "level", "effect")
    given = {"actor": source["rule"]["actorId"], "source": source["rule"]["sourceId"]}
    body = {"scope": "always", "rule": {**{name: source["rule"][name] for name in names}, **given}}
    path = f"/v1/interactions/{first_interaction(paused)}/approve"
    assert daemon.post(path, body).json["code"] == "invalid_request"
    assert daemon.post(path, {**body, "broader": True}).status == 200
    [made] = daemon.get("/v1/policies").json["items"]
    assert daemon.request("DELETE", f"/v1/policies/{made['id']}").status == 204
