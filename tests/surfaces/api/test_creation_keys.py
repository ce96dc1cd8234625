"""With an `Idempotency-Key`, what is requested again is created once: at once, twice at a time, and after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from executor.identity import creations
from executor.surfaces.api.context import EdgeRoute
from tests.surfaces.api.daemon_server import Answer, Daemon, running_daemon

POLICY = {"pattern": "a.**", "action": "deny"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("daemon")


@pytest.fixture(scope="module")
def daemon(place: Path) -> Iterator[Daemon]:
    with running_daemon(place) as daemon:
        yield daemon


def create(daemon: Daemon, path: str, body: Any, key: str, **options: Any) -> Answer:
    return daemon.post(path, body, headers={"Idempotency-Key": key, **options})


def events_of(daemon: Daemon, key: str) -> list[str]:
    name = creations.name_creation(daemon.executor.tenancy.operator, key, "").key
    found = daemon.get("/v1/events?limit=1000").json["items"]
    return [one["type"] for one in found if one["data"].get("key") == name]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/policies", POLICY),
        ("/v1/keys", {"name": "k"}),
        ("/v1/agents", {"name": "an-agent"}),
        ("/v1/webhooks", {"name": "w", "url": "https://hooks.example.com/x"}),
        ("/v1/invitations", {}),
        ("/v1/workspaces", {"name": "another"}),
        ("/v1/secrets", {"name": "s", "value": "canary-of-a-secret"}),
    ],
)
def test_the_same_request_gets_the_same_answer(daemon: Daemon, path: str, body: Any) -> None:
    count = len(daemon.get(path).json["items"])
    first, second = create(daemon, path, body, path), create(daemon, path, body, path)
    assert first.status == second.status == 201 and first.json == second.json
    assert "idempotent-replayed" not in first.headers and second.headers["idempotent-replayed"] == "true"
    assert len(daemon.get(path).json["items"]) == count + 1
    assert events_of(daemon, path) == ["creation.requested", "creation.answered"]


def test_another_request_with_the_same_key_is_refused(daemon: Daemon) -> None:
    create(daemon, "/v1/policies", POLICY, "other")
    for path, body in (("/v1/policies", {**POLICY, "note": "b"}), ("/v1/webhooks", {})):
        refused = create(daemon, path, body, "other")
        assert (refused.status, refused.json["code"]) == (422, "idempotency_key_reused")


def test_two_at_a_time_create_one(daemon: Daemon) -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: create(daemon, "/v1/policies", POLICY, "at-once"), range(8)))
    assert {one.status for one in answers} == {201}
    assert len({one.json["id"] for one in answers}) == 1


def test_a_request_that_was_refused_may_be_sent_again(daemon: Daemon) -> None:
    body = {"name": "twice", "value": "x"}
    daemon.post("/v1/secrets", body)
    assert create(daemon, "/v1/secrets", body, "refused").status == 409
    daemon.request("DELETE", "/v1/secrets/twice")
    assert create(daemon, "/v1/secrets", body, "refused").status == 201
    assert create(daemon, "/v1/policies", {}, "invalid").status == 400
    assert create(daemon, "/v1/policies", POLICY, "invalid").status == 201


def test_a_key_belongs_to_its_actor(daemon: Daemon) -> None:
    other = daemon.post("/v1/agents", {"name": "second"}).json["token"]
    assert create(daemon, "/v1/policies", POLICY, "mine").status == 201
    refused = daemon.post("/v1/policies", POLICY, role=other, headers={"Idempotency-Key": "mine"})
    assert refused.status == 403  # and not what the operator created


def test_keys_and_streams_that_make_no_sense_are_refused(daemon: Daemon) -> None:
    assert create(daemon, "/v1/policies", POLICY, "a b").status == 400
    assert create(daemon, "/v1/sources", {"location": "x"}, "stream", Accept="text/event-stream").status == 400


def test_nothing_of_a_body_is_written_down(daemon: Daemon) -> None:
    create(daemon, "/v1/secrets", {"name": "t", "value": "canary-of-a-secret"}, "body")
    [requested] = [
        one["data"] for one in daemon.get("/v1/events?limit=1000").json["items"]
        if one["type"] == "creation.requested" and one["data"]["route"] == "POST /v1/secrets"
    ][-1:]  # fmt: skip
    assert requested.keys() == {"key", "route"}


def test_every_route_that_creates_takes_a_key(daemon: Daemon) -> None:
    """The others create what is used once, or what there is only one of; those of executions are kept with them."""
    creating = {one.path for one in daemon.app.routes if isinstance(one, EdgeRoute) and one.status_code == 201}
    taking = {one.path for one in daemon.app.routes if isinstance(one, EdgeRoute) and one.takes_key}
    assert creating - taking == {
        "/v1/executions",
        "/v1/model-keys",
        "/v1/connections/oauth/credentials",
        "/v1/auth/links",
        "/v1/auth/anonymous/bootstrap",
        "/v1/auth/anonymous/key",
        "/v1/sessions/{session_id}/terminals/{terminal_id}/ticket",
    }
    document: Any = daemon.get("/v1/openapi.json").json
    named = {one["name"] for one in document["paths"]["/v1/policies"]["post"]["parameters"]}
    assert named == {"Idempotency-Key"} and "422" in document["paths"]["/v1/policies"]["post"]["responses"]


def test_after_a_restart_the_log_still_knows(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as first:
        made = create(first, "/v1/policies", POLICY, "kept").json["id"]
        by = first.executor.tenancy.operator
        cut = creations.name_creation(by, "cut", "POST /v1/policies")
        first.run(creations.begin(first.executor.database, by, cut))  # and then the daemon was killed
    with running_daemon(tmp_path) as second:
        again = create(second, "/v1/policies", POLICY, "kept")
        assert (again.status, again.json["code"], again.json["id"]) == (409, "already_created", made)
        unknown = create(second, "/v1/policies", POLICY, "cut")
        assert (unknown.status, unknown.json["code"]) == (409, "creation_unknown")
        assert len(second.get("/v1/policies").json["items"]) == 1


def test_a_prompt_is_known_as_soon_as_it_is_queued(daemon: Daemon, tmp_path: Path) -> None:
    """Waiting for its end may take long, and may be interrupted."""
    session = daemon.post("/v1/sessions", {"agent": "fake", "cwd": str(tmp_path), "isolation": "insulated"}).json
    path = f"/v1/sessions/{session['id']}/prompt"
    first = create(daemon, path, {"prompt": "hello", "wait": 60}, "prompt")
    assert (first.status, first.json["status"]) == (202, "completed")
    assert create(daemon, path, {"prompt": "hello", "wait": 60}, "prompt").json["id"] == first.json["id"]
    assert len(daemon.get(f"/v1/sessions/{session['id']}").json["tasks"]) == 1
    assert events_of(daemon, "prompt") == ["creation.requested", "creation.answered"]
    daemon.request("DELETE", f"/v1/sessions/{session['id']}")
