"""Attack 86: a write leaves, its answer is lost, and somebody guesses what became of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from executor.execution.approvals.pending_limits import ApprovalLimits
from tests.sources.graphql.service import Service
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json, serving
from tests.surfaces.api.daemon_server import Daemon, running_daemon

DONE = {"200": {"description": "done", "content": {"application/json": {"schema": {"type": "object"}}}}}
BODY = {"content": {"application/json": {"schema": {"type": "object", "properties": {"how": {"type": "string"}}}}}}
KEY = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
SERVER = """
import os
from mcp.server.mcpserver import MCPServer
server = MCPServer("Dies")

@server.tool()
def write(how: str) -> str:
    os._exit(1)

server.run("stdio")
"""
FUNCTIONS = """
import time
from executor.sources.python import tool

@tool(effect="write")
def write(how: str) -> str:
    time.sleep(3600 if how == "hang" else 0)
    return how

@tool(effect="read")
def look(how: str) -> str:
    time.sleep(3600 if how == "hang" else 0)
    return how
"""


class Upset:
    """Does what it is asked, and answers as `how` says: `drop` closes, a number is the status of a gateway."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self.took: list[tuple[str, str]] = []

    def __call__(self, got: Got, handler: Handler) -> Reply | None:
        if got.target.endswith("openapi.json"):
            return as_json(self.document())
        how = json.loads(got.body)["how"] if got.body else got.target.partition("how=")[2]
        self.took.append((got.target.partition("?")[0], got.headers.get("idempotency-key", "")))
        if how == "drop" or (how == "once" and len(self.took) == 1):
            handler.connection.close()
            return None
        return as_json({"how": how}, int(how) if how.isdigit() else 200)

    def document(self) -> dict[str, Any]:
        def operation(name: str, **more: Any) -> dict[str, Any]:
            return {"tags": ["m"], "operationId": name, "responses": DONE, **more}

        how = {"name": "how", "in": "query", "schema": {"type": "string"}}
        return {
            "openapi": "3.1.0",
            "info": {"title": "Upset", "version": "1"},
            "servers": [{"url": self.upstream.url}],
            "paths": {
                "/write": {"post": operation("write", requestBody=BODY)},
                "/keyed": {"post": operation("keyed", requestBody=BODY, parameters=[KEY])},
                "/look": {"get": operation("look", parameters=[how])},
            },
        }


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("lost"), typecheck="off") as made:
        yield made


@pytest.fixture(scope="module")
def upset(daemon: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upset]:
    """Sources of each kind whose writes are allowed, so that only their answers are in question."""
    folder = tmp_path_factory.mktemp("sources")
    (folder / "dies.py").write_text(SERVER)
    (folder / "lost_functions.py").write_text(FUNCTIONS)
    sys.path.insert(0, str(folder))
    with serving() as upstream:
        made = Upset(upstream)
        upstream.otherwise = made
        graph = Service()
        upstream.routes["/graphql"] = lambda got, handler: drop_answer(graph, got, handler)
        add(daemon, "api", kind="openapi", location=f"{upstream.url}/openapi.json")
        add(daemon, "graph", kind="graphql", location=f"{upstream.url}/graphql")
        add(daemon, "dies", command=[sys.executable, str(folder / "dies.py")], consent=True)
        add(daemon, "functions", location="python:lost_functions", consent=True)
        allowed = daemon.post("/v1/policies", {"pattern": "**", "action": "allow"})
        assert allowed.status == 201
        yield made
    sys.path.remove(str(folder))


def drop_answer(graph: Service, got: Got, handler: Handler) -> Reply | None:
    if b"deletePost" in got.body and b"__schema" not in got.body:
        handler.connection.close()
        return None
    return graph(got, handler)


def add(daemon: Daemon, namespace: str, **body: Any) -> None:
    added = daemon.post("/v1/sources", {"namespace": namespace, **body})
    assert added.status == 201, added.body


@pytest.fixture
def fresh(upset: Upset) -> Upset:
    upset.took.clear()
    return upset


def call(daemon: Daemon, path: str, language: str = "typescript", **arguments: Any) -> Any:
    given = json.dumps(arguments)
    code = f"return await tools.{path}({given if language == 'typescript' else '**' + given})"
    return daemon.execute(code, language=language, wait=60)


def settle(daemon: Daemon, view: Any, act: str, **body: Any) -> Any:
    [asked] = view["interactions"]
    assert asked["kind"] == "unknown_outcome", asked
    answer = daemon.post(f"/v1/interactions/{asked['id']}/{act}", body)
    assert answer.status == 200, answer.body
    return daemon.post(f"/v1/executions/{view['executionId']}/resume", {"wait": 60}).json


@pytest.mark.parametrize("language", ["typescript", "python"])
@pytest.mark.parametrize("how", ["drop", "502", "504", "520", "524"])
def test_86_a_write_whose_answer_was_lost_needs_a_decision(
    daemon: Daemon, fresh: Upset, how: str, language: str
) -> None:
    """Defence: `is_lost` in execution/failures.py, `ApprovalRequests.lose`."""
    view = call(daemon, "api.m.write", language, how=how)
    assert view["status"] == "paused", view
    ended = settle(daemon, view, "approve", result={"how": "seen"})
    assert (ended["status"], ended["result"]) == ("completed", {"how": "seen"})
    assert len(fresh.took) == 1


def test_86_it_is_sent_again_only_if_a_human_says_so(daemon: Daemon, fresh: Upset) -> None:
    view = call(daemon, "api.m.write", how="once")
    assert view["status"] == "paused"
    assert len(fresh.took) == 1
    assert settle(daemon, view, "approve")["result"] == {"how": "once"}
    assert len(fresh.took) == 2


def test_86_denied_it_is_the_error_unknown_outcome(daemon: Daemon, fresh: Upset) -> None:
    ended = settle(daemon, call(daemon, "api.m.write", how="drop"), "deny", reason="nothing to be found")
    assert ended["error"]["code"] == "unknown_outcome"
    assert "retryable" not in ended["error"] or not ended["error"]["retryable"]


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("graph.mutation.deletePost", {"id": "p1"}),
        ("graph.graphql.mutate", {"query": 'mutation { deletePost(id: "p1") }'}),
        ("dies.write", {"how": "die"}),
    ],
)
def test_86_every_kind_of_source_asks(daemon: Daemon, fresh: Upset, path: str, arguments: dict[str, str]) -> None:
    view = call(daemon, path, **arguments)
    assert view["status"] == "paused", view["error"]
    assert settle(daemon, view, "deny")["error"]["code"] == "unknown_outcome"


def test_86_a_function_that_does_not_return_asks_if_it_writes(daemon: Daemon, fresh: Upset) -> None:
    kind = daemon.executor.catalog._kinds.ready("python")
    before, kind._call_seconds = kind._call_seconds, 0.3  # type: ignore[union-attr]
    try:
        view = call(daemon, "functions.write", how="hang")
        assert view["status"] == "paused", view
        assert settle(daemon, view, "deny")["error"]["code"] == "unknown_outcome"
        assert call(daemon, "functions.look", how="hang")["error"]["code"] == "upstream_timeout"
    finally:
        kind._call_seconds = before  # type: ignore[union-attr]


def test_86_what_takes_a_key_is_sent_once_more_under_it(daemon: Daemon, fresh: Upset) -> None:
    """Defence: `CallSender.send` repeats only what is idempotent, once, by the same route."""
    assert call(daemon, "api.m.keyed", how="once")["result"] == {"how": "once"}
    assert len(fresh.took) == 2
    assert fresh.took[0] == fresh.took[1]
    assert fresh.took[0][1]
    fresh.took.clear()
    view = call(daemon, "api.m.keyed", "python", how="drop")
    assert view["status"] == "paused"
    assert len(fresh.took) == 2
    settle(daemon, view, "deny")


@pytest.mark.parametrize(("how", "code"), [("drop", "upstream_unreachable"), ("502", "upstream_error")])
def test_86_a_read_gets_the_plain_error(daemon: Daemon, fresh: Upset, how: str, code: str) -> None:
    assert call(daemon, "api.m.look", how=how)["error"]["code"] == code


@pytest.mark.parametrize("how", ["400", "409", "500", "503"])
def test_86_what_the_service_answers_is_no_lost_answer(daemon: Daemon, fresh: Upset, how: str) -> None:
    view = call(daemon, "api.m.write", how=how)
    assert view["error"]["code"] == "upstream_error"
    assert len(fresh.took) == 1


def test_86_a_write_that_never_left_needs_no_decision(daemon: Daemon, fresh: Upset) -> None:
    document = {**fresh.document(), "servers": [{"url": f"http://127.0.0.1:{unused_port()}"}]}
    add(daemon, "nowhere", kind="openapi", location="x.json", document=json.dumps(document), inheritRules=True)
    view = call(daemon, "nowhere.m.write", how="ok")
    assert view["error"]["code"] == "upstream_unreachable"
    assert view["error"]["details"]["sent"] is False


def test_86_a_setting_gives_the_error_to_the_code(daemon: Daemon, fresh: Upset) -> None:
    daemon.executor.pipeline.sender.lost_answers = "error"
    try:
        view = call(daemon, "api.m.write", how="504")
        assert view["error"]["code"] == "unknown_outcome"
        assert view["error"]["details"] == {"sent": True, "code": "upstream_error", "status": 504}
    finally:
        daemon.executor.pipeline.sender.lost_answers = "ask"


def test_86_lost_answers_in_masses_do_not_flood_people(
    daemon: Daemon, fresh: Upset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defence: `OpenApprovals.admit` in `ApprovalRequests.lose`."""
    monkeypatch.setattr(daemon.executor.pipeline.open_approvals, "_limits", ApprovalLimits(execution=2, actor=1_000))
    code = """
        const made = Array.from({length: 5}, () => tools.api.m.write({how: "drop"}));
        const told = await Promise.all(made.map((one) => one.then(() => "", (e) => e.code)));
        return told.filter((code) => code === "unknown_outcome").length;
    """
    view = daemon.execute(code, wait=60)
    assert (view["status"], len(view["interactions"])) == ("paused", 2)
    for asked in view["interactions"]:
        daemon.post(f"/v1/interactions/{asked['id']}/deny")
    assert daemon.post(f"/v1/executions/{view['executionId']}/resume", {"wait": 30}).json["result"] == 5


def unused_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
