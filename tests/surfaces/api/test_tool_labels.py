"""Names and descriptions that people give to tools, and what policies make of a tool that is renamed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.sources.upstream import Upstream, as_json, serving
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Answer, Daemon
from tests.surfaces.api.test_tool_selection import SDL, serve

OPEN = 'return await tools.lab.tickets.open({id: "1"})'


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with serving() as server:
        server.otherwise = as_json([])
        yield server


@pytest.fixture
def lab(daemon: Daemon, upstream: Upstream) -> Iterator[None]:
    serve(upstream)
    added = daemon.post("/v1/sources", {"location": f"{upstream.url}/openapi.json", "namespace": "lab"})
    assert added.status == 201, added.body
    yield
    for policy in daemon.get("/v1/policies").json["items"]:
        daemon.request("DELETE", f"/v1/policies/{policy['id']}")
    daemon.request("DELETE", "/v1/sources/lab")


def rename(daemon: Daemon, path: str, new: str, **more: Any) -> Answer:
    return daemon.request("PATCH", f"/v1/tools/{path}", {"path": new, **more})


def policy(daemon: Daemon, pattern: str, action: str, **more: Any) -> str:
    made = daemon.post("/v1/policies", {"pattern": pattern, "action": action, **more})
    assert made.status == 201, made.body
    return str(made.json["id"])


def decision(daemon: Daemon, path: str) -> str:
    return str(daemon.post("/v1/policies/test", {"path": path}).json["action"])


def paths(daemon: Daemon) -> list[str]:
    return [one["path"] for one in daemon.get("/v1/tools?prefix=lab.").json["items"]]


@pytest.mark.parametrize("language", ["typescript", "python"])
def test_a_renamed_tool_is_the_same_operation_and_stays_so_when_the_source_is_read_again(
    daemon: Daemon, upstream: Upstream, lab: None, language: str
) -> None:
    told = rename(daemon, "lab.issues.listIssues", "lab.tickets.find")
    assert told.status == 200, told.body
    assert {(one["was"], one["path"]) for one in told.json["renamed"]} == {
        ("lab.issues.listIssues", "lab.tickets.find"),
        ("lab.issues.listIssues.all", "lab.tickets.find.all"),
    }
    new = {"/labels": {"get": {"operationId": "listLabels", "tags": ["issues"]}}}
    serve(upstream, **new)
    refreshed = daemon.post("/v1/sources/lab/refresh").json
    assert refreshed["added"] == ["lab.issues.listLabels"] and not refreshed["removed"] and not refreshed["changed"]
    call = 'tools.lab.tickets.find({id: "7"})' if language == "typescript" else 'tools.lab.tickets.find(id="7")'
    code = f"return await {call}" if language == "typescript" else f"await {call}"
    assert daemon.execute(code, language=language)["status"] == "completed"
    assert upstream.requests[-1].target.startswith("/repos/7/issues")
    assert daemon.get("/v1/tools/lab.tickets.find").json["ownPath"] == "lab.issues.listIssues"
    gone = daemon.execute("return await tools.lab.issues.listIssues({id: '7'})", typecheck="off")
    assert gone["error"]["code"] == "unknown_tool" and "lab.tickets.find" in gone["error"]["hint"]
    gone = daemon.execute("return await tools.lab.issues.listIssues({id: '7'})", typecheck="error")
    assert gone["error"]["hint"] == "did you mean lab.tickets.find?"
    assert rename(daemon, "lab.tickets.find", "").status == 200
    assert "lab.issues.listIssues.all" in paths(daemon) and "lab.tickets.find" not in paths(daemon)
    [happened, *_] = daemon.get("/v1/audit?type=source.relabelled").json["items"]
    assert happened["actorId"] and happened["data"]["renamed"]


def test_a_group_is_renamed_with_the_tools_that_come_later(daemon: Daemon, upstream: Upstream, lab: None) -> None:
    assert len(rename(daemon, "lab.issues.*", "lab.tickets.*").json["renamed"]) == 3
    serve(upstream, **{"/labels": {"get": {"operationId": "listLabels", "tags": ["issues"]}}})
    assert daemon.post("/v1/sources/lab/refresh").json["added"] == ["lab.tickets.listLabels"]
    assert rename(daemon, "lab.tickets.createIssue", "lab.tickets.open").status == 200
    assert rename(daemon, "lab.tickets.*", "").status == 200
    assert [one for one in paths(daemon) if ".tickets." in one] == ["lab.tickets.open"]
    assert "lab.issues.listLabels" in paths(daemon)


@pytest.mark.parametrize("pattern", ["lab.issues.createIssue", "lab.issues.*", "*.*.createIssue"])
@pytest.mark.parametrize("action", ["deny", "require_approval"])
def test_a_policy_about_the_own_name_goes_on_to_hold(daemon: Daemon, lab: None, pattern: str, action: str) -> None:
    policy(daemon, "lab.**", "allow")
    made = policy(daemon, pattern, action)
    daemon.post(f"/v1/policies/{made}/move", {"position": 0})
    assert rename(daemon, "lab.issues.createIssue", "lab.tickets.open").status == 200
    assert decision(daemon, "lab.tickets.open") == action
    outcome = daemon.execute(OPEN)
    assert outcome["status"] == ("failed" if action == "deny" else "paused")
    if action == "deny":
        assert outcome["error"]["code"] == "denied"
        seen = daemon.get("/v1/tools/search?query=lab+tickets+open&source=lab", role="agent").json["items"]
        assert "lab.tickets.open" not in [one["path"] for one in seen]


def test_a_policy_about_a_given_name_keeps_the_tool_from_being_renamed_away(daemon: Daemon, lab: None) -> None:
    assert rename(daemon, "lab.issues.createIssue", "lab.tickets.open").status == 200
    made = policy(daemon, "lab.tickets.open", "deny")
    for new in ("lab.tickets.start", "", "lab.issues.start"):
        refused = rename(daemon, "lab.tickets.open", new, inheritRules=True)
        assert refused.status == 409 and refused.json["rules"] == [made], refused.body
    assert rename(daemon, "lab.tickets.*", "lab.cards.*").status == 409
    assert decision(daemon, "lab.tickets.open") == "deny"


@pytest.mark.parametrize("pattern", ["lab.safe.**", "*.safe.open", "lab.safe.open"])
def test_a_tool_does_not_step_into_a_policy_that_allows_others(daemon: Daemon, lab: None, pattern: str) -> None:
    made = policy(daemon, pattern, "allow")
    refused = rename(daemon, "lab.issues.createIssue", "lab.safe.open")
    assert refused.status == 409 and refused.json["rules"] == [made]
    assert rename(daemon, "lab.issues.*", "lab.safe.*").status == (200 if pattern.endswith(".open") else 409)
    rename(daemon, "lab.safe.*", "")
    assert rename(daemon, "lab.issues.createIssue", "lab.safe.open", inheritRules=True).status == 200
    assert decision(daemon, "lab.safe.open") == "allow"


def test_what_was_always_allowed_is_asked_again_under_another_name(daemon: Daemon, lab: None) -> None:
    paused = daemon.execute('return await tools.lab.issues.createIssue({id: "1"})')
    approved = daemon.post(f"/v1/interactions/{paused['interactions'][0]['id']}/approve", {"scope": "always"})
    assert approved.status == 200, approved.body
    assert daemon.execute('return await tools.lab.issues.createIssue({id: "1"})')["status"] == "completed"
    told = rename(daemon, "lab.issues.createIssue", "lab.tickets.open").json
    assert len(told["rules"]) == 1 and "lab.issues.createIssue" in told["rules"][0]
    assert daemon.execute(OPEN)["status"] == "paused"
    # A tool that takes the name for itself is not the one that was allowed.
    assert rename(daemon, "lab.repos.deleteRepo", "lab.issues.createIssue").status == 200
    assert daemon.execute('return await tools.lab.issues.createIssue({id: "1"})')["status"] == "paused"


def test_a_policy_made_for_the_new_name_holds(daemon: Daemon, lab: None) -> None:
    assert rename(daemon, "lab.issues.createIssue", "lab.tickets.open").status == 200
    policy(daemon, "lab.tickets.open", "allow")
    outcome = daemon.execute(OPEN)
    assert outcome["status"] == "completed", outcome["error"]


@pytest.mark.parametrize(
    ("new", "status"),
    [
        ("other.tickets.open", 400), ("lab.tickets.open.all", 400), ("lab.tickets.class", 400), ("lab.a b", 400),
        ("lab", 400), ("lab.repos.GETREPO", 409), ("lab.repos", 409), ("lab.repos.getRepo.more", 409),
        ("lab.tickets.*", 409), ("lab.tickets.öpen", 400),
    ],
)  # fmt: skip
def test_a_name_that_can_not_be_used_is_refused(daemon: Daemon, lab: None, new: str, status: int) -> None:
    refused = rename(daemon, "lab.issues.createIssue", new)
    assert refused.status == status and refused.json["hint"], refused.body
    assert rename(daemon, "lab.issues.nothing", "lab.tickets.open").status == 404
    assert rename(daemon, "lab.issues.listIssues.all", "lab.tickets.open").status == 409


def test_a_later_operation_does_not_take_a_name_that_was_given(daemon: Daemon, upstream: Upstream, lab: None) -> None:
    assert rename(daemon, "lab.repos.deleteRepo", "lab.issues.openTicket").status == 200
    policy(daemon, "lab.issues.openTicket", "allow")
    serve(upstream, **{"/tickets": {"post": {"operationId": "openTicket", "tags": ["issues"]}}})
    [added] = daemon.post("/v1/sources/lab/refresh").json["added"]
    assert added.startswith("lab.issues.openTicket_") and decision(daemon, added) == "require_approval"
    assert daemon.get("/v1/tools/lab.issues.openTicket").json["ownPath"] == "lab.repos.deleteRepo"
    assert daemon.post("/v1/sources/lab/refresh").json["added"] == []


def test_a_description_of_ones_own_is_marked_found_and_survives_a_refresh(
    daemon: Daemon, upstream: Upstream, lab: None
) -> None:
    words = {"description": "Report a broken flux capacitor."}
    assert daemon.request("PATCH", "/v1/tools/lab.issues.createIssue", words).json["reworded"] == [
        "lab.issues.createIssue"
    ]
    serve(upstream, **{"/labels": {"get": {"operationId": "listLabels", "tags": ["issues"]}}})
    assert daemon.post("/v1/sources/lab/refresh").status == 200
    shown = daemon.get("/v1/tools/lab.issues.createIssue").json
    assert shown["description"] == words["description"] and shown["describedBy"] == "people of this workspace"
    waiting = daemon.execute('return await tools.lab.issues.createIssue({id: "1"})')["interactions"][0]["id"]
    asked = daemon.get(f"/v1/interactions/{waiting}").json
    assert asked["description"] == words["description"] and asked["describedBy"] == "people of this workspace"
    found = daemon.get("/v1/tools/search?query=flux+capacitor&source=lab").json
    assert found["items"][0]["path"] == "lab.issues.createIssue"
    rename(daemon, "lab.issues.createIssue", "lab.tickets.open")
    assert daemon.get("/v1/tools/lab.tickets.open").json["description"] == words["description"]
    daemon.request("PATCH", "/v1/tools/lab.tickets.open", {"description": ""})
    shown = daemon.get("/v1/tools/lab.tickets.open").json
    assert "flux" not in shown["description"] and "describedBy" not in shown


def test_a_renamed_graphql_field_is_judged_by_its_own_name_also_inside_a_document(daemon: Daemon, lab: None) -> None:
    body = {"document": SDL, "baseUrl": "http://127.0.0.1:9/graphql", "kind": "graphql", "namespace": "graph"}
    assert daemon.post("/v1/sources", body).status == 201
    policy(daemon, "graph.query.secret", "deny")
    assert rename(daemon, "graph.query.secret", "graph.query.hidden").status == 200
    code = "return await tools.graph.graphql.query({query: '{ secret(id: \"1\") }'})"
    assert daemon.execute(code, typecheck="off")["error"]["code"] == "denied"
    assert decision(daemon, "graph.query.hidden") == "deny"
    daemon.request("DELETE", "/v1/sources/graph")


def test_only_who_administers_sources_names_their_tools(daemon: Daemon, lab: None) -> None:
    body = {"path": "lab.tickets.open"}
    for role in ("member", "viewer"):
        answer = identities.invite(daemon, role).request("PATCH", "/v1/tools/lab.issues.createIssue", body)
        assert answer.status == 403
    assert daemon.request("PATCH", "/v1/tools/lab.issues.createIssue", body, role="agent").status == 403
