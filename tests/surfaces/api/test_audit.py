"""The record: who did what, from where; and whether it is whole."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime
from typing import Any

import pytest

from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon, running_upstream


def audit(daemon: Daemon, **query: Any) -> list[Any]:
    text = "&".join(f"{name}={value}" for name, value in query.items())
    items: list[Any] = daemon.get(f"/v1/audit?{text}").json["items"]
    return items


def test_a_decision_is_recorded_with_who_when_from_where_and_what_exactly(daemon: Daemon, paused: Any) -> None:
    approval = paused["interactions"][0]
    settled = daemon.post(f"/v1/interactions/{approval['id']}/approve").json
    [event] = [one for one in audit(daemon, type="interaction.approved") if one["data"]["id"] == approval["id"]]
    assert (event["actor"], event["executionId"]) == ("operator", paused["executionId"])
    assert event["origin"] == "operator_token 127.0.0.1"
    assert event["data"]["binding"] == approval["binding"] == settled["binding"]
    assert event["data"]["scope"] == "once"
    assert (settled["settledBy"], settled["settledFrom"]) == (event["actorId"], event["origin"])


def test_what_code_does_is_recorded_as_done_by_the_actor_that_submitted_it(daemon: Daemon, shop: list[Any]) -> None:
    view = daemon.execute(
        """const any: any = tools;
           for (const act of [
             () => any.shop.things.listThings({}), () => any.no.such({}), () => any.shop.things.createThing({name: 5})
           ]) try { await act() } catch (e) {}"""
    )
    events = [one for one in audit(daemon, actor="agent") if one["executionId"] == view["executionId"]]
    assert {one["origin"] for one in events} == {"agent_token 127.0.0.1"}
    assert [one["type"] for one in events if one["type"].startswith("execution")] == [
        "execution.completed",
        "execution.created",
    ]
    refused = {one["data"]["code"] for one in events if one["type"] == "call.failed"}
    assert refused == {"unknown_tool", "invalid_arguments"}


def test_administrative_acts_are_recorded_with_their_actor(daemon: Daemon) -> None:
    policy = daemon.post("/v1/policies", {"pattern": "a.**", "action": "deny"}).json
    daemon.request("DELETE", f"/v1/policies/{policy['id']}")
    added, removed = reversed(audit(daemon, type="policy.*", limit=2))
    assert (added["type"], removed["type"]) == ("policy.added", "policy.removed")
    assert {added["actor"], removed["actor"]} == {"operator"}
    assert added["data"]["id"] == removed["data"]["id"] == policy["id"]


def test_connecting_and_removing_a_source_is_recorded_with_its_actor(daemon: Daemon) -> None:
    with running_upstream() as (address, _):
        daemon.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "audited"})
        daemon.request("DELETE", "/v1/sources/audited")
    removed, added = [one for one in audit(daemon, type="source.*") if one["data"]["namespace"] == "audited"]
    assert (added["type"], removed["type"]) == ("source.added", "source.removed")
    assert {added["origin"], removed["origin"]} == {"operator_token 127.0.0.1"}


@pytest.mark.parametrize(
    ("role", "path", "status", "code"),
    [
        ("exo_" + "x" * 43, "/v1/policies?case=token", 401, "unauthorized"),
        ("agent", "/v1/doctor?case=agent", 403, "forbidden"),
    ],
)
def test_a_refused_request_is_recorded(daemon: Daemon, role: str, path: str, status: int, code: str) -> None:
    assert daemon.get(path, role=role).status == status

    def find_refusals() -> list[Any]:
        refused = audit(daemon, type="request.refused")
        return [one for one in refused if one["data"]["path"] == path.partition("?")[0] and one["data"]["code"] == code]

    event = wait_for(find_refusals)[0]
    assert (event["data"]["status"], event["data"]["address"]) == (status, "127.0.0.1")
    assert event["actor"] == (role if role == "agent" else None)


def test_events_are_found_by_actor_type_and_time_page_by_page(daemon: Daemon) -> None:
    daemon.execute("return 1")
    newest = daemon.get("/v1/audit?limit=2").json
    older = daemon.get(f"/v1/audit?limit=2&before={newest['next']}").json
    ids = [one["id"] for one in (*newest["items"], *older["items"])]
    assert ids == sorted(ids, reverse=True) and len(set(ids)) == 4
    assert audit(daemon, since=4_000_000_000_000) == [] == audit(daemon, until=1)
    [last] = audit(daemon, limit=1)
    moment = int(datetime.fromisoformat(last["at"]).timestamp() * 1000)
    assert last["id"] in {one["id"] for one in audit(daemon, since=moment, until=moment + 1)}
    assert last["id"] not in {one["id"] for one in audit(daemon, until=moment)}
    for wrong in ("actor=nobody", "type=a%25", "since=-1", "until=-1", "limit=0"):
        assert daemon.get(f"/v1/audit?{wrong}").json["code"] == "invalid_request"


def test_the_chain_is_whole_and_its_head_can_be_kept(daemon: Daemon) -> None:
    daemon.execute("return 1")
    report = daemon.get("/v1/audit/verify").json
    assert (report["ok"], report["broken"]) == (True, None)
    daemon.execute("return 2")
    later = daemon.get(f"/v1/audit/verify?head={report['head']}").json
    assert later["ok"] and later["events"] > report["events"]
    forged = report["head"][:-1] + ("0" if report["head"][-1] != "0" else "1")
    assert not daemon.get(f"/v1/audit/verify?head={forged}").json["ok"]
    assert daemon.get("/v1/audit/verify?head=x").status == 400


def test_the_export_has_every_event_as_a_line(daemon: Daemon) -> None:
    daemon.execute("return 'é\\u2028'")
    answer = daemon.get("/v1/audit/export?limit=10000")
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.body.split(b"\n")[:-1]]
    assert [line["id"] for line in lines] == sorted(line["id"] for line in lines)
    assert all(len(line["seal"]) == 64 for line in lines)
    assert lines[-1]["type"] == "audit.exported"
    with sqlite3.connect(daemon.executor.settings.database_file) as database:
        assert database.execute("select count(*) from events").fetchone()[0] >= len(lines)
    rest = daemon.get(f"/v1/audit/export?after={lines[-2]['id']}").body
    assert json.loads(rest.split(b"\n")[0])["id"] == lines[-1]["id"]


def test_an_agent_can_neither_read_nor_check_nor_export_the_record(daemon: Daemon) -> None:
    for path in ("/v1/audit", "/v1/audit/verify", "/v1/audit/export"):
        assert daemon.get(path, role="agent").json["code"] == "forbidden"
