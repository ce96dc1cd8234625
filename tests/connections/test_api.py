"""/v1/secrets and /v1/connections: what goes in never comes out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.serving import Answer, Daemon, running_daemon
from tests.support.guarded import Guarded, running

CANARY = "cnry-api-20x"


@pytest.fixture(scope="module")
def service() -> Iterator[Guarded]:
    with running() as server:
        yield server


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, service: Guarded) -> Iterator[Daemon]:
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
        daemon.get("/v1/connections/ways/guarded"),
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
    done = daemon.get(f"/v1/executions/{paused['executionId']}?wait=30")
    assert done.json["result"] == "/header"
    [made] = [one for one in daemon.get("/v1/connections").json["items"] if one["scope"] == "actor"]
    assert made["actorId"] == daemon.executor.tenancy.agent.id
