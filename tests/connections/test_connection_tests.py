"""`connections test` says `ok` only of a credential that the service was seen to accept."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.connections.test_credentials_of_kinds import COMMAND, SCRIPT
from tests.sources.graphql.service import Service
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json
from tests.sources.upstream import serving as upstream_serving
from tests.surfaces.api.daemon_server import Daemon, running_daemon

GOOD, BAD = "cnry-good-51", "cnry-wrong-52"
OPERATIONS: dict[str, dict[str, Any]] = {
    "guarded": {"get": {"operationId": "whoAmI"}},
    "open": {"get": {"operationId": "health"}},
    "forbidden": {"get": {"operationId": "adminOnly"}},
    "missing": {"get": {"operationId": "gone"}},
    "broken": {"get": {"operationId": "crash"}},
    "narrow": {"get": {"operationId": "one", "parameters": [{"name": "id", "in": "query", "required": True}]}},
    "writing": {"post": {"operationId": "doIt"}},
}
ANSWERS = {
    "forbidden": as_json({"message": "not you"}, 403),
    "missing": as_json({"message": f"nothing for {GOOD}"}, 404),
    "broken": as_json({"message": f"failed for {GOOD}"}, 500),
}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with upstream_serving() as server:
        for name in OPERATIONS:
            server.routes[f"/{name}/openapi.json"] = as_json(document(server.url, name))
            server.routes[f"/{name}"] = ANSWERS.get(name, guard)
        server.routes["/open"] = as_json({"status": "fine"})
        yield server


def guard(got: Got, handler: Handler) -> Reply:
    return as_json({"name": "Ann"}) if got.headers.get("authorization") == f"Bearer {GOOD}" else as_json({}, 401)


def document(base: str, name: str) -> dict[str, Any]:
    described = {"tags": ["it"], "security": [{"token": []}], "responses": {"200": {"description": "fine"}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": name, "version": "1"},
        "servers": [{"url": base}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": {f"/{name}": {method: {**one, **described} for method, one in OPERATIONS[name].items()}},
    }


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, upstream: Upstream) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        for name in OPERATIONS:
            added = daemon.post("/v1/sources", {"location": f"{upstream.url}/{name}/openapi.json", "namespace": name})
            assert added.status == 201, added.body
        yield daemon


def connect(daemon: Daemon, source: str, **body: Any) -> str:
    made = daemon.post("/v1/connections", {"source": source, "replace": True, **body})
    assert made.status == 201, made.body
    return str(made.json["id"])


def by_token(daemon: Daemon, source: str, token: str) -> str:
    return connect(daemon, source, values={"token": token})


def by_header(daemon: Daemon, source: str, value: str) -> str:
    placements = [{"in": "header", "name": "Authorization", "template": "{value}"}]
    return connect(daemon, source, placements=placements, values={"value": value})


def verdict(daemon: Daemon, connection: str) -> dict[str, Any]:
    answer = daemon.post(f"/v1/connections/{connection}/test")
    assert answer.status == 200, answer.body
    assert GOOD.encode() not in answer.body and BAD.encode() not in answer.body
    view: dict[str, Any] = answer.json
    assert view["ok"] is (view["outcome"] == "ok")
    assert view["ok"] or (view["error"] and view["hint"])
    return view


def status_of(daemon: Daemon, connection: str) -> tuple[str, str | None]:
    view = daemon.get(f"/v1/connections/{connection}").json
    return view["status"], view["error"]


def sent_credentials(upstream: Upstream, path: str) -> list[str | None]:
    return [one.headers.get("authorization") for one in upstream.requests if one.target == path]


def test_a_credential_that_the_service_accepts_is_ok_and_only_reads_were_sent(
    daemon: Daemon, upstream: Upstream
) -> None:
    upstream.requests.clear()
    made = by_token(daemon, "guarded", GOOD)
    view = verdict(daemon, made)
    assert (view["outcome"], view["error"]) == ("ok", None) and "guarded.it.whoAmI" in view["checked"]
    assert sent_credentials(upstream, "/guarded") == [f"Bearer {GOOD}", None]
    assert {one.method for one in upstream.requests} == {"GET"}
    [event] = daemon.get("/v1/audit?type=connection.tested&limit=1").json["items"]
    assert event["data"]["outcome"] == "ok" and event["actor"] == "operator"


def test_a_wrong_one_is_rejected_and_one_that_works_again_is_ready_again(daemon: Daemon, upstream: Upstream) -> None:
    made = by_token(daemon, "guarded", BAD)
    assert verdict(daemon, made)["outcome"] == "rejected"
    assert status_of(daemon, made) == ("rejected", "the service answered 401")
    assert verdict(daemon, made)["outcome"] == "rejected"
    upstream.routes["/guarded"] = lambda got, handler: (
        as_json({}) if got.headers.get("authorization") else as_json({}, 401)
    )
    try:
        assert verdict(daemon, made)["outcome"] == "ok"
    finally:
        upstream.routes["/guarded"] = guard
    assert status_of(daemon, made) == ("ready", None)


def test_one_that_a_call_was_refused_with_is_never_ok_without_a_better_answer(daemon: Daemon) -> None:
    made = by_token(daemon, "guarded", BAD)
    failed = daemon.execute("return await tools.guarded.it.whoAmI({})")
    assert failed["status"] == "failed" and "a person can replace it" in failed["error"]["hint"]
    policy = daemon.post("/v1/policies", {"pattern": "guarded.**", "action": "deny"}).json
    try:
        view = verdict(daemon, made)
        assert (view["outcome"], view["error"]) == ("rejected", "the service answered 401")
    finally:
        daemon.request("DELETE", f"/v1/policies/{policy['id']}")


@pytest.mark.parametrize("action", ["deny", "require_approval"])
def test_what_the_policies_do_not_allow_is_not_called(daemon: Daemon, upstream: Upstream, action: str) -> None:
    made = by_token(daemon, "guarded", GOOD)
    policy = daemon.post("/v1/policies", {"pattern": "guarded.**", "action": action}).json
    upstream.requests.clear()
    try:
        view = verdict(daemon, made)
    finally:
        daemon.request("DELETE", f"/v1/policies/{policy['id']}")
    assert view["outcome"] == "untested" and "policies" in view["error"] and view["checked"] == "nothing"
    assert upstream.requests == []


@pytest.mark.parametrize(
    ("source", "outcome", "calls"),
    [
        ("open", "untested", 2),
        ("forbidden", "rejected", 1),
        ("missing", "untested", 1),
        ("broken", "untested", 1),
        ("narrow", "untested", 0),
        ("writing", "untested", 0),
    ],
)
def test_an_answer_that_proves_nothing_is_not_ok(
    daemon: Daemon, upstream: Upstream, source: str, outcome: str, calls: int
) -> None:
    made = by_token(daemon, source, GOOD)
    upstream.requests.clear()
    assert verdict(daemon, made)["outcome"] == outcome
    assert len(sent_credentials(upstream, f"/{source}")) == calls


def test_graphql_is_asked_a_query_that_takes_no_arguments(daemon: Daemon, upstream: Upstream) -> None:
    service, location = Service(), f"{upstream.url}/graphql"
    upstream.routes["/graphql"] = service
    added = daemon.post("/v1/sources", {"location": location, "namespace": "blog", "kind": "graphql"})
    assert added.status == 201, added.body
    made = by_header(daemon, "blog", GOOD)
    assert verdict(daemon, made)["outcome"] == "untested"

    def require_key(got: Got, handler: Handler) -> Reply:
        if got.headers.get("authorization") != GOOD:
            return as_json({"errors": [{"message": f"who are you, {got.headers.get('authorization')}"}]}, 401)
        return service(got, handler)

    upstream.routes["/graphql"] = require_key
    view = verdict(daemon, made)
    assert view["outcome"] == "ok" and "blog." in view["checked"]
    assert verdict(daemon, by_header(daemon, "blog", BAD))["outcome"] == "rejected"


def test_mcp_is_read_with_it_and_without_it(daemon: Daemon) -> None:
    with subprocess.Popen([sys.executable, SCRIPT, "http"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            url = f"http://127.0.0.1:{process.stdout.readline().decode().strip()}/mcp"
            assert daemon.post("/v1/sources", {"location": url, "namespace": "remote"}).status == 201
            made = connect(daemon, "remote", values={"token": GOOD})
            assert verdict(daemon, made)["outcome"] == "ok"
        finally:
            process.kill()
    assert verdict(daemon, made)["outcome"] == "untested"


def test_what_is_run_here_is_untested(daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tried_module.py").write_text(
        "from executor.sources.python import tool\n@tool(effect='read')\ndef size_of() -> int:\n    return 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    sources = {"child": {"command": list(COMMAND)}, "keyed": {"location": "python:tried_module"}}
    for name, given in sources.items():
        added = daemon.post("/v1/sources", {**given, "namespace": name, "consent": True})
        assert added.status == 201, added.body
        placements = [{"in": "environment", "name": "API_KEY", "template": "{value}"}]
        made = connect(daemon, name, placements=placements, values={"value": GOOD})
        assert verdict(daemon, made)["outcome"] == "untested"
