"""Policies over the API: written, ordered, tried out, and never made by someone who may not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from executor.execution.policies import reach
from executor.storage.catalog import policy_scope
from executor.surfaces.api.routes import policies
from tests.surfaces.api.daemon_server import Daemon

TOOL = "shop.things.createThing"
NAMED = {"path": "/name", "test": "equals", "value": "lamp"}


@pytest.fixture(autouse=True)
def remove_policies(daemon: Daemon) -> Iterator[None]:
    yield
    for item in daemon.get("/v1/policies").json["items"]:
        assert daemon.request("DELETE", f"/v1/policies/{item['id']}").status == 204


def add(daemon: Daemon, pattern: str, action: str, **more: Any) -> Any:
    answer = daemon.post("/v1/policies", {"pattern": pattern, "action": action, **more})
    assert answer.status == 201, answer.body
    return answer.json


def decision(daemon: Daemon, **more: Any) -> Any:
    return daemon.post("/v1/policies/test", {"path": TOOL, **more}).json


def test_policies_are_ordered_tested_moved_changed_and_removed(daemon: Daemon, shop: list[Any]) -> None:
    assert decision(daemon)["action"] == "require_approval"
    allow = add(daemon, "shop.**", "allow")
    assert (decision(daemon)["policyId"], decision(daemon)["effect"]) == (allow["id"], "write")
    deny = add(daemon, "shop.things.*", "deny", position=0)
    assert [item["id"] for item in daemon.get("/v1/policies").json["items"]] == [deny["id"], allow["id"]]
    assert decision(daemon)["policy"]["text"] == "shop.things.* → deny"
    moved = daemon.post(f"/v1/policies/{deny['id']}/move", {"position": 1})
    assert (moved.status, moved.json["position"]) == (200, 1)
    assert decision(daemon)["policyId"] == allow["id"]
    changed = daemon.request("PATCH", f"/v1/policies/{allow['id']}", {"conditions": [NAMED], "actor": "agent"})
    assert changed.json["text"] == 'shop.** when /name="lamp" by agent → allow'
    assert decision(daemon, arguments={"name": "lamp"}, actor="agent")["policyId"] == allow["id"]
    assert decision(daemon, arguments={"name": "lamp"})["policyId"] == deny["id"]
    assert decision(daemon, arguments={"name": "rug"}, actor="agent")["action"] == "deny"
    assert daemon.get(f"/v1/policies/{allow['id']}").json == changed.json


def test_a_policy_may_ask_about_everything_at_once(daemon: Daemon, shop: list[Any]) -> None:
    conditions = [
        {"path": "/name", "test": "one_of", "value": ["lamp", "rug"]},
        {"path": "/name", "test": "matches", "value": "l.*"},
    ]
    policy = add(daemon, "shop.*.*", "allow", conditions=conditions, actor="agent", source="shop", effect="write")
    assert policy["actor"] == "agent" and policy["source"] == "shop" and policy["conditions"] == conditions
    view = daemon.execute('return (await tools.shop.things.createThing({name: "lamp"})).name')
    assert (view["status"], view["result"]) == ("completed", "lamp")
    assert daemon.execute('await tools.shop.things.createThing({name: "rug"})')["status"] == "paused"


@pytest.mark.parametrize(
    "body",
    [
        {"pattern": "a..b", "action": "allow"},
        {"pattern": "a b", "action": "allow"},
        {"pattern": "", "action": "allow"},
        {"pattern": "a.**", "action": "maybe"},
        {"pattern": "a.**"},
        {"pattern": "a.**", "action": "allow", "position": -1},
        {"pattern": "a.**", "action": "allow", "level": "toolkit"},
        {"pattern": "a.**", "action": "allow", "actor": "nobody"},
        {"pattern": "a.**", "action": "allow", "source": "nothing"},
        {"pattern": "a.**", "action": "allow", "conditions": [{"path": "name", "test": "equals", "value": 1}]},
        {"pattern": "a.**", "action": "allow", "conditions": [{"path": "/n", "test": "matches", "value": "("}]},
        {"pattern": "a.**", "action": "allow", "conditions": [{"path": "/n", "test": "at_most", "value": "1"}]},
        {"pattern": "a.**", "action": "allow", "conditions": [NAMED] * 21},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(daemon: Daemon, body: Any) -> None:
    answer = daemon.post("/v1/policies", body)
    assert (answer.status, answer.json["code"]) == (400, "invalid_request")


def test_a_policy_test_checks_the_arguments_too(daemon: Daemon, shop: list[Any]) -> None:
    answer = daemon.post("/v1/policies/test", {"path": TOOL, "arguments": {"name": 1}})
    assert (answer.status, answer.json["code"]) == (400, "invalid_arguments")
    unknown = daemon.post("/v1/policies/test", {"path": "shop.nothing"})
    assert (unknown.status, unknown.json["code"]) == (404, "not_found")


def test_a_policy_of_the_organization_comes_first_and_can_only_be_tightened(daemon: Daemon, shop: list[Any]) -> None:
    add(daemon, "shop.**", "allow")
    add(daemon, "shop.**", "deny", level="organization")
    assert [item["level"] for item in daemon.get("/v1/policies").json["items"]] == ["organization", "workspace"]
    assert decision(daemon)["action"] == "deny"


def test_the_level_of_a_policy_stays(daemon: Daemon) -> None:
    policy = add(daemon, "a.**", "deny")
    answer = daemon.request("PATCH", f"/v1/policies/{policy['id']}", {"level": "organization"})
    assert (answer.status, answer.json["code"]) == (400, "invalid_request")


def test_a_draft_tells_how_many_tools_it_matches(daemon: Daemon, shop: list[Any]) -> None:
    def matches(**policy: Any) -> Any:
        return daemon.post("/v1/policies/matches", {"action": "deny", **policy}).json

    both = ["shop.things.createThing", "shop.things.listThings"]
    assert matches(pattern="shop.**") == {"count": 2, "tools": both}
    assert matches(pattern="shop.**", effect="read") == {"count": 1, "tools": both[1:]}
    assert matches(pattern="*.things.*", source="shop")["count"] == 2
    assert matches(pattern="discover") == {"count": 1, "tools": ["discover"]}
    assert matches(pattern="sho.**")["count"] == 0


def test_a_simulation_tells_what_a_policy_or_an_order_would_have_changed(daemon: Daemon, shop: list[Any]) -> None:
    allow, deny = add(daemon, "shop.**", "allow"), add(daemon, "shop.things.createThing", "deny")
    view = daemon.execute("await tools.shop.things.createThing({name: 'rug'}); await tools.shop.things.listThings({})")
    policy = {"pattern": "shop.**", "action": "deny", "conditions": [{**NAMED, "value": "rug"}], "effect": "write"}
    body = {"path": TOOL, "arguments": {"name": "rug"}, "rule": policy, "position": 0, "limit": 2}
    found = daemon.post("/v1/policies/simulate", body).json
    assert (found["decision"]["before"]["action"], found["decision"]["after"]["action"]) == ("allow", "deny")
    assert found["decision"]["after"]["policyId"] is None
    assert found["judged"] == 2
    [one] = found["changed"]
    assert (one["executionId"], one["seq"], one["path"]) == (view["executionId"], 1, TOOL)
    assert (one["before"]["policyId"], one["after"]["action"]) == (allow["id"], "deny")
    other = daemon.post("/v1/policies/simulate", {"order": [deny["id"], allow["id"]], "limit": 2}).json
    assert [item["seq"] for item in other["changed"]] == [1]
    following = daemon.post("/v1/policies/simulate", {"rule": policy, "limit": 1, "before": found["next"]})
    assert following.status == 200
    assert daemon.get("/v1/policies").json["items"][0]["id"] == allow["id"]


def test_many_policies_are_compared_while_others_are_served(
    daemon: Daemon, shop: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`to_thread` in policies.listing and reach.simulate: a thousand policies take a second, and any reader may ask."""
    add(daemon, "shop.**", "allow")
    places: list[str] = []

    def note_thread(work: Any) -> Any:
        return lambda *given: places.append(threading.current_thread().name) or work(*given)

    monkeypatch.setattr(policies, "find_shadowed", note_thread(policies.find_shadowed))
    monkeypatch.setattr(reach, "changes", note_thread(reach.changes))
    assert daemon.get("/v1/policies?reach=true").status == 200
    assert daemon.post("/v1/policies/simulate", {"limit": 1}).status == 200
    assert len(places) == 2 and not any("_serve" in place for place in places), places


def test_a_simulation_reads_only_so_much_of_what_was_sent(
    daemon: Daemon, shop: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`reach.ALL_ARGUMENTS`: a thousand calls with a megabyte each would take the memory of the whole machine."""
    daemon.execute("for (const name of ['a', 'b', 'c']) await tools.shop.things.listThings({}).catch(() => 0)")
    workspace = daemon.executor.tenancy.workspace.id
    monkeypatch.setattr(policy_scope, "ALL_ARGUMENTS", 5)
    past = daemon.run(daemon.executor.database.read(lambda c: policy_scope.past_calls(c, workspace, limit=3)))
    assert [one.arguments for one in past] == [{}, {}, None]
    assert daemon.post("/v1/policies/simulate", {"limit": 3}).json["judged"] == 3


@pytest.mark.parametrize("body", [{"order": ["pol_none"]}, {"before": "x"}, {"limit": 0}, {"rule": {"pattern": "a"}}])
def test_a_simulation_of_nonsense_is_refused(daemon: Daemon, body: Any) -> None:
    assert daemon.post("/v1/policies/simulate", body).status == 400


@pytest.mark.parametrize("role", ["agent"])
def test_anyone_who_may_not_administer_can_not_touch_a_policy(daemon: Daemon, role: str) -> None:
    policy = add(daemon, "a.**", "deny")
    for method, path, body in (
        ("POST", "/v1/policies", {"pattern": "**", "action": "allow"}),
        ("PATCH", f"/v1/policies/{policy['id']}", {"action": "allow"}),
        ("POST", f"/v1/policies/{policy['id']}/move", {"position": 0}),
        ("DELETE", f"/v1/policies/{policy['id']}", None),
    ):
        assert daemon.request(method, path, body, role=role).json["code"] == "forbidden"
    assert daemon.get(f"/v1/policies/{policy['id']}").json["action"] == "deny"


def test_the_list_tells_what_each_policy_is_about_and_which_can_never_decide(daemon: Daemon, shop: list[Any]) -> None:
    wide, dead = add(daemon, "shop.**", "deny"), add(daemon, TOOL, "allow")
    plain = daemon.get("/v1/policies").json["items"]
    assert not any("matches" in one for one in plain)
    first, second = daemon.get("/v1/policies?reach=true").json["items"]
    assert (first["matches"], first["shadowedBy"]) == (2, None)
    assert (second["id"], second["matches"], second["shadowedBy"]) == (dead["id"], 1, wide["id"])


def test_a_test_tells_what_became_of_every_policy(daemon: Daemon, shop: list[Any]) -> None:
    add(daemon, "shop.**", "deny", actor="agent")
    allow = add(daemon, "shop.things.*", "allow", conditions=[NAMED])
    found = decision(daemon, arguments={"name": "lamp"})
    assert [(one["verdict"], one["policy"]["id"]) for one in found["rules"]][1] == ("decides", allow["id"])
    assert found["rules"][0]["why"] == "it is for another actor"
    other = decision(daemon, arguments={"name": "rug"})
    assert other["rules"][1]["why"] == '/name="lamp" does not hold'


def test_a_simulation_may_leave_policies_out(daemon: Daemon, shop: list[Any]) -> None:
    only = add(daemon, "shop.**", "allow", level="organization")
    daemon.execute("await tools.shop.things.createThing({name: 'rug'})")
    found = daemon.post("/v1/policies/simulate", {"without": [only["id"]], "limit": 1}).json
    assert [(one["before"]["action"], one["after"]["action"]) for one in found["changed"]] == [
        ("allow", "require_approval")
    ]
    assert daemon.post("/v1/policies/simulate", {"without": ["pol_none"]}).status == 400
