"""/v1/secrets and /v1/connections: what goes in never comes out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from executor.execution.approvals import orphans
from tests.support.protected_service import ProtectedService, running
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Answer, Daemon, running_daemon

CANARY = "cnry-api-20x"


@pytest.fixture(scope="module")
def service() -> Iterator[ProtectedService]:
    with running() as server:
        yield server


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, service: ProtectedService) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        added = daemon.post("/v1/sources", {"location": f"{service.url}/openapi.json", "namespace": "guarded"})
        assert added.status == 201, added.body
        yield daemon


def connect(daemon: Daemon, **body: Any) -> Answer:
    return daemon.post("/v1/connections", {"source": "guarded", "way": "token", **body})


def test_no_answer_about_a_secret_has_its_value(daemon: Daemon) -> None:
    answers = [
        daemon.post("/v1/secrets", {"name": "mail", "value": CANARY}),
        daemon.get("/v1/secrets"),
        daemon.post("/v1/secrets/mail/rotate", {"value": f"{CANARY}-2"}),
        daemon.post("/v1/secrets", {"name": "mail", "value": CANARY}),
        daemon.post("/v1/secrets", {"name": 5, "value": CANARY, "odd": 1}),
        daemon.post("/v1/secrets", {"name": "x", "value": [CANARY]}),
        daemon.post("/v1/secrets", {"name": "x", "provider": "environment", "reference": "PATH", "value": CANARY}),
        daemon.post("/v1/secrets/rotate-key"),
        daemon.request("DELETE", "/v1/secrets/mail"),
        daemon.get("/v1/events?limit=1000"),
    ]
    assert [answer.status for answer in answers] == [201, 200, 200, 409, 400, 400, 400, 200, 200, 200]
    assert all(CANARY.encode() not in answer.body for answer in answers)


def test_no_answer_about_a_connection_has_its_values(daemon: Daemon) -> None:
    made = connect(daemon, values={"token": CANARY})
    assert made.status == 201, made.body
    found = made.json["id"]
    answers = [
        made,
        daemon.get("/v1/connections"),
        daemon.get(f"/v1/connections/{found}"),
        daemon.get("/v1/sources/guarded/ways"),
        daemon.post(f"/v1/connections/{found}/test"),
        connect(daemon, values={"token": CANARY}),
        connect(daemon, values={"tokken": CANARY}),
        connect(daemon, values={"token": f"{CANARY}\nX: y"}, name="other"),
        daemon.get("/v1/sources/guarded"),
        daemon.request("DELETE", f"/v1/connections/{found}"),
        daemon.get("/v1/events?limit=1000"),
    ]
    assert [answer.status for answer in answers] == [201, 200, 200, 200, 200, 409, 400, 400, 200, 200, 200]
    assert all(CANARY.encode() not in answer.body for answer in answers)


def test_an_agent_can_neither_see_nor_make_them(daemon: Daemon) -> None:
    body = {"source": "guarded", "way": "token", "values": {"token": "x"}, "scope": "actor"}
    answers = [
        daemon.get("/v1/secrets", role="agent"),
        daemon.post("/v1/secrets", {"name": "a", "value": "b"}, role="agent"),
        daemon.get("/v1/connections", role="agent"),
        daemon.post("/v1/connections", body, role="agent"),
        daemon.post("/v1/interactions/int_0/credential", {"values": {}}, role="agent"),
    ]
    assert {answer.status for answer in answers} == {403}


def test_a_paused_call_is_given_its_credential_and_goes_on(daemon: Daemon) -> None:
    paused = daemon.execute("return (await tools.guarded.use.header({})).url")
    [asked] = paused["interactions"]
    assert asked["kind"] == "credential" and asked["credential"]["source"] == "guarded"
    assert "sent to" in asked["prompt"] and "/connect/" in asked["url"]
    given = daemon.post(f"/v1/interactions/{asked['id']}/credential", {"values": {"key": CANARY}, "scope": "actor"})
    assert given.status == 200 and CANARY.encode() not in given.body, given.body
    done = daemon.get(f"/v1/executions/{paused['executionId']}?wait=60")
    assert done.json["result"] == "/header"
    [made] = [one for one in daemon.get("/v1/connections").json["items"] if one["scope"] == "actor"]
    assert made["actorId"] == daemon.executor.tenancy.agent.id


def test_a_call_that_waits_goes_on_when_its_credential_is_given_with_the_source(daemon: Daemon) -> None:
    waiting = daemon.execute("return (await tools.guarded.use.bearer({})).url")
    assert waiting["interactions"][0]["kind"] == "credential"
    made = connect(daemon, values={"token": "k-later"}, replace=True)
    assert made.status == 201, made.body
    done = daemon.get(f"/v1/executions/{waiting['executionId']}?wait=60").json
    assert (done["status"], done["result"]) == ("completed", "/bearer")
    assert daemon.request("DELETE", f"/v1/connections/{made.json['id']}").status == 200


def test_approvals_about_a_source_end_with_it_and_the_code_learns_it(daemon: Daemon, service: ProtectedService) -> None:
    daemon.post("/v1/sources", {"location": f"{service.url}/openapi.json", "namespace": "gone"})
    code = "try { return await tools.gone.use.bearer({}) } catch (error) { return error.message }"
    waiting = daemon.execute(code)
    [asked] = waiting["interactions"]
    assert daemon.request("DELETE", "/v1/sources/gone").status == 200
    settled = daemon.get(f"/v1/interactions/{asked['id']}").json
    assert (settled["status"], settled["decisionReason"]) == ("denied", "the source gone was disconnected")
    done = daemon.get(f"/v1/executions/{waiting['executionId']}?wait=60").json
    assert done["status"] == "completed" and "disconnected" in done["result"]


def test_all_of_them_end_however_many_newer_ones_there_are(
    daemon: Daemon, service: ProtectedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orphans, "PAGE", 2)
    daemon.post("/v1/sources", {"location": f"{service.url}/openapi.json", "namespace": "gone"})
    ask = "try { return await tools.%s.use.bearer({}) } catch (error) { return error.message }"
    waiting = [daemon.execute(ask % name) for name in (*("gone",) * 3, *("guarded",) * 5)]
    assert daemon.request("DELETE", "/v1/sources/gone").status == 200
    states = [daemon.get(f"/v1/interactions/{one['interactions'][0]['id']}").json["status"] for one in waiting]
    assert states == ["denied"] * 3 + ["pending"] * 5
    for one in waiting[3:]:
        daemon.post(f"/v1/executions/{one['executionId']}/cancel", {})


def test_a_source_that_was_uploaded_can_not_be_read_again_and_does_not_fail_for_it(daemon: Daemon) -> None:
    document = {"openapi": "3.1.0", "info": {"title": "Up", "version": "1"}, "servers": [{"url": "http://127.0.0.1:9"}]}
    paths = {"/a": {"get": {"operationId": "getA", "responses": {"200": {"description": "Done"}}}}}
    body = {"document": json.dumps({**document, "paths": paths}), "namespace": "uploaded"}
    assert daemon.post("/v1/sources", body).status == 201
    refused = daemon.post("/v1/sources/uploaded/refresh")
    assert refused.status == 409 and "can't be refreshed" in refused.json["detail"]
    assert daemon.get("/v1/sources/uploaded").json["status"] == "connected"


def test_someone_signed_in_reads_of_their_role_not_of_a_credential(daemon: Daemon) -> None:
    viewer = identities.invite(daemon, "viewer")
    refused = viewer.post("/v1/secrets", {"name": "x", "value": "y"})
    assert refused.status == 403 and refused.json["detail"].startswith("permission denied")
