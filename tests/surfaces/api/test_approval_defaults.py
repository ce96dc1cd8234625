"""Approval defaults of a source: what happens to its calls where no policy decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.sources.upstream import serving
from tests.support.notes import DONE, Notes
from tests.surfaces.api.daemon_server import Daemon

CALLS = {
    "read": "return await tools.notes.n.look({})",
    "write": 'return await tools.notes.n.add({text: "hi"})',
    "destructive": "return await tools.notes.n.drop({})",
}
MORE = {
    "/look": {"get": {"tags": ["n"], "operationId": "look", "responses": DONE}},
    "/all": {"delete": {"tags": ["n"], "operationId": "drop", "responses": DONE}},
}


@pytest.fixture
def notes(daemon: Daemon) -> Iterator[Notes]:
    with serving() as server:
        made = Notes(server.url)
        made.more = MORE
        server.otherwise = made
        yield made
    for policy in daemon.get("/v1/policies").json["items"]:
        daemon.request("DELETE", f"/v1/policies/{policy['id']}")
    for one in daemon.get("/v1/interactions?status=pending").json["items"]:
        daemon.post(f"/v1/interactions/{one['id']}/deny")
    daemon.request("DELETE", "/v1/sources/notes")


def connect(daemon: Daemon, notes: Notes, **more: Any) -> Any:
    body = {"location": f"{notes.url}/openapi.json", "kind": "openapi", "namespace": "notes", **more}
    added = daemon.post("/v1/sources", body)
    assert added.status == 201, added.body
    return added.json


def put(daemon: Daemon, **defaults: str | None) -> Any:
    answer = daemon.request("PUT", "/v1/sources/notes/defaults", defaults)
    assert answer.status == 200, answer.body
    return answer.json


def outcome(daemon: Daemon, effect: str) -> str:
    view = daemon.execute(CALLS[effect], typecheck="off")
    return str(view["error"]["code"] if view["status"] == "failed" else view["status"])


def test_each_effect_has_a_default_of_its_own_and_the_prompt_names_it(daemon: Daemon, notes: Notes) -> None:
    added = connect(daemon, notes, defaults={"write": "allow", "destructive": "deny"})
    assert added["defaults"] == {
        "read": None,
        "write": "allow",
        "destructive": "deny",
        "inForce": {"read": "allow", "write": "allow", "destructive": "deny"},
    }
    assert [outcome(daemon, effect) for effect in CALLS] == ["completed", "completed", "denied"]
    put(daemon, read="require_approval")
    assert daemon.get("/v1/sources/notes/defaults").json["write"] is None
    view = daemon.execute(CALLS["read"], typecheck="off")
    reason = "the default of the source notes for read calls → require_approval"
    assert view["interactions"][0]["reason"] == reason and reason in view["interactions"][0]["prompt"]
    tested = daemon.post("/v1/policies/test", {"path": "notes.n.look"}).json
    assert tested["reason"] == reason and tested["policyId"] is None and tested["rules"] == []
    assert outcome(daemon, "write") == "paused"


def test_policies_of_the_workspace_and_organization_come_first(daemon: Daemon, notes: Notes) -> None:
    connect(daemon, notes, defaults={"read": "deny", "write": "allow"})
    assert outcome(daemon, "read") == "denied"
    daemon.post("/v1/policies", {"pattern": "notes.**", "action": "allow", "effect": "read"})
    daemon.post("/v1/policies", {"pattern": "notes.n.add", "action": "deny", "level": "organization"})
    assert outcome(daemon, "read") == "completed" and outcome(daemon, "write") == "denied"
    tested = daemon.post("/v1/policies/test", {"path": "notes.n.look"}).json
    assert tested["otherwise"]["action"] == "deny" and "source notes" in tested["otherwise"]["reason"]


def test_a_tool_that_is_denied_by_default_is_not_found(daemon: Daemon, notes: Notes) -> None:
    connect(daemon, notes, defaults={"destructive": "deny"})
    paths = [one["path"] for one in daemon.get("/v1/tools?source=notes", role="agent").json["items"]]
    assert "notes.n.drop" not in paths and "notes.n.add" in paths


def test_a_change_asks_again_for_what_is_pending_and_the_log_says_what_was_loosened(
    daemon: Daemon, notes: Notes
) -> None:
    connect(daemon, notes)
    view = daemon.execute(CALLS["write"])
    before = view["interactions"][0]["id"]
    put(daemon, destructive="deny")
    daemon.post(f"/v1/interactions/{before}/approve")
    again = daemon.get(f"/v1/executions/{view['executionId']}?wait=30").json
    assert again["status"] == "paused" and again["interactions"][0]["id"] != before and notes.sent == []
    put(daemon, write="allow", read="deny")
    put(daemon, read="deny", write="allow")  # as it is: nothing happens
    first, second = daemon.get("/v1/audit?type=source.defaults&limit=2").json["items"]
    assert first["data"]["before"] == second["data"]["after"] == {"destructive": "deny"}
    assert first["data"]["after"] == {"write": "allow", "read": "deny"} and first["actorId"]
    assert (first["data"]["loosened"], second["data"]["loosened"]) == (["write", "destructive"], [])
    put(daemon, destructive="deny")
    assert outcome(daemon, "write") == "paused"


@pytest.mark.parametrize("body", [{"write": "auto"}, {"writes": "allow"}, {"write": ["allow"]}, []])
def test_defaults_that_are_not_understood_are_refused(daemon: Daemon, notes: Notes, body: Any) -> None:
    connect(daemon, notes)
    assert daemon.request("PUT", "/v1/sources/notes/defaults", body).status == 400
    assert daemon.request("PUT", "/v1/sources/nowhere/defaults", {"write": "allow"}).status == 404
