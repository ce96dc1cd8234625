"""/v1/limits, and what a submission beyond one is answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.api.identities import Caller, operator


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("limits"), queued_limit_workspace=500) as daemon:
        yield daemon


def workspace_id(daemon: Daemon) -> str:
    return str(operator(daemon).get("/v1/limits").json["workspace"]["id"])


def test_limits_are_set_shown_and_reset_and_the_audit_log_says_by_whom(daemon: Daemon) -> None:
    me, agent = operator(daemon), identities.agent(daemon, "limited")
    changed = me.patch("/v1/limits/actors/limited", {"running": 3, "weight": 2})
    assert changed.status == 200
    assert changed.json["limits"] == {"running": 3, "queued": 0, "perMinute": 0, "weight": 2, "priority": "normal"}
    assert me.patch("/v1/limits/actors/limited", {"queued": 5}).json["limits"]["running"] == 3
    place = me.patch(f"/v1/limits/workspaces/{workspace_id(daemon)}", {"weight": 7}).json
    assert (place["limits"]["weight"], place["limits"]["queued"], place["chosen"]["queued"]) == (7, 500, None)
    shown = me.get("/v1/limits").json
    assert [one["name"] for one in shown["actors"]] == ["limited"]
    assert shown["defaults"]["workspace"]["queued"] == 500
    me.patch("/v1/limits/actors/limited", dict.fromkeys(("running", "queued", "weight")))
    me.patch(f"/v1/limits/workspaces/{workspace_id(daemon)}", {"weight": None})
    assert me.get("/v1/limits").json["actors"] == []
    events = me.get("/v1/audit?type=limits.changed").json["items"]
    assert len(events) == 5 and {one["actor"] for one in events} == {"operator"}
    assert agent.get("/v1/limits").status == 403


@pytest.mark.parametrize(
    "body",
    [
        {"running": -1}, {"running": 1_000_001}, {"running": "3"}, {"running": 2.5}, {"running": True}, {"weight": 0},
        {"weight": 1_001}, {"priority": "highest"}, {"limit": 3}, [],
    ],
)  # fmt: skip
def test_what_is_no_limit_is_refused(daemon: Daemon, body: Any) -> None:
    assert operator(daemon).patch("/v1/limits/actors/agent", body).status == 400
    assert operator(daemon).get("/v1/limits").json["actors"] == []


def test_names_that_do_not_exist_are_refused(daemon: Daemon) -> None:
    me = operator(daemon)
    assert me.patch("/v1/limits/actors/no-one", {"running": 1}).status == 404
    assert me.patch("/v1/limits/actors/act_0", {"running": 1}).status == 404
    assert me.patch("/v1/limits/workspaces/ws_0", {"running": 1}).status == 404
    assert me.patch(f"/v1/limits/workspaces/{workspace_id(daemon)}", {"priority": "high"}).status == 400


@pytest.mark.parametrize("role", ["viewer", "member", "agent", "key", "admin"])
def test_no_one_lifts_the_limits_that_protect_others(daemon: Daemon, role: str) -> None:
    """Administrators set those of actors, the operator those of workspaces."""
    who = someone(daemon, role)
    assert who.patch(f"/v1/limits/workspaces/{workspace_id(daemon)}", {"running": 0}).status == 403
    actor = who.patch("/v1/limits/actors/agent", {"priority": "normal"})
    assert actor.status == (200 if role == "admin" else 403)
    operator(daemon).patch("/v1/limits/actors/agent", {"priority": None})


def someone(daemon: Daemon, role: str) -> Caller:
    if role == "agent":
        return Caller(daemon, "agent.token", daemon.tokens.agent)
    if role == "key":
        return identities.create_key(daemon, "discover", "execute", "read")
    return identities.invite(daemon, role)


def test_an_admin_of_another_organization_does_not_reach_our_actors(daemon: Daemon) -> None:
    place = identities.expect_created(operator(daemon).post("/v1/organizations", {"name": "Elsewhere"}))
    outsider = identities.invite(daemon, "admin", operator(daemon, place["id"]))
    mine = operator(daemon).get("/v1/agents").json["items"][0]["id"]
    assert outsider.patch(f"/v1/limits/actors/{mine}", {"running": 1}).status == 404
    assert operator(daemon).patch(f"/v1/limits/workspaces/{place['id']}", {"running": 4}).json["limits"]["running"] == 4


def test_a_submission_beyond_the_rate_says_when_to_try_again(daemon: Daemon) -> None:
    agent = identities.agent(daemon, "eager")
    operator(daemon).patch("/v1/limits/actors/eager", {"perMinute": 2})
    sent = [agent.post("/v1/executions", {"code": "return 1"}) for _ in range(3)]
    assert [one.status for one in sent] == [201, 201, 429]
    problem, headers = sent[2].json, {name.lower(): text for name, text in sent[2].headers.items()}
    said = {name: problem[name] for name in ("code", "limit", "of", "most")}
    assert said == {"code": "limit_reached", "limit": "perMinute", "of": "actor", "most": 2}
    assert int(headers["retry-after"]) == problem["seconds"] <= 60
    assert problem["hint"]
    refused = agent.post("/v1/executions", {"code": "return 1", "priority": "high"})
    assert (refused.status, refused.json["code"]) == (403, "forbidden")
    assert agent.post("/v1/executions", {"code": "return 1", "priority": "urgent"}).status == 400
