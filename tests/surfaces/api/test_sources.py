"""Connecting sources: probing, consent, secrets, progress, versions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.sources.openapi.documents import document
from tests.sources.upstream import Upstream, as_json, serving
from tests.surfaces.api.daemon_server import Daemon

SECRET = "Bearer s3cret-value"
PATHS = {
    "/things": {"get": {"operationId": "listThings", "tags": ["things"]}},
    "/odd": {"get": {"$ref": "#/nowhere"}},
}
SCHEMES = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with serving() as server:
        parts = {"components": SCHEMES, "security": [{"key": []}]}
        server.routes["/openapi.json"] = as_json(document(PATHS, **parts))
        server.otherwise = as_json([])
        yield server


@pytest.fixture
def connected(daemon: Daemon, upstream: Upstream) -> Iterator[Any]:
    body = {
        "location": f"{upstream.url}/openapi.json",
        "namespace": "keyed",
        "headers": {"X-Key": SECRET},
        "baseUrl": upstream.url,
    }
    added = daemon.post("/v1/sources", body)
    assert added.status == 201, added.body
    yield added.json
    daemon.request("DELETE", "/v1/sources/keyed")


def events_of(body: bytes) -> list[tuple[str, Any]]:
    found = []
    for block in body.decode().strip().split("\n\n"):
        kind, data = block.split("\n")
        found.append((kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_a_probe_tells_what_is_there_and_connects_nothing(daemon: Daemon, upstream: Upstream) -> None:
    found = daemon.post("/v1/sources/probe", {"location": f"{upstream.url}/openapi.json"}).json
    assert (found["kind"], found["location"]) == ("openapi", f"{upstream.url}/openapi.json")
    assert "things" not in [one["namespace"] for one in daemon.get("/v1/sources").json["items"]]


def test_a_source_tells_what_was_left_out_and_which_credentials_it_asks_for(connected: Any) -> None:
    assert connected["toolCount"] == 1
    assert [one["where"] for one in connected["skipped"]] and connected["skipped"][0]["reason"]
    assert [(one["name"], one["type"]) for one in connected["auth"]] == [("key", "apiKey")]


def test_the_values_of_headers_are_sent_and_never_shown(daemon: Daemon, upstream: Upstream, connected: Any) -> None:
    assert connected["headers"] == ["X-Key"]
    view = daemon.execute("return await tools.keyed.things.listThings()")
    assert view["status"] == "completed", view
    assert upstream.requests[-1].headers["x-key"] == SECRET
    shown = [
        json.dumps(connected),
        json.dumps(view),
        *(daemon.get(path).body.decode() for path in ("/v1/sources", "/v1/sources/keyed", "/v1/events?limit=1000")),
        daemon.post("/v1/sources/keyed/refresh").body.decode(),
    ]
    assert not any("s3cret" in text for text in shown)


def test_a_command_runs_only_with_consent_to_exactly_it(daemon: Daemon) -> None:
    body = {"command": ["executor-no-such-program", "--flag"], "namespace": "cmd"}
    for path in ("/v1/sources", "/v1/sources/probe"):
        refused = daemon.post(path, body)
        assert (refused.status, refused.json["code"]) == (400, "consent_required")
        assert refused.json["command"] == body["command"]
    agreed = daemon.post("/v1/sources", {**body, "consent": True})
    assert agreed.status >= 400 and agreed.json["code"] != "consent_required"
    both = daemon.post("/v1/sources", {**body, "location": "https://example.com"})
    assert both.json["code"] == "invalid_request"


def test_code_can_not_add_a_command_unless_a_human_approved_exactly_it(daemon: Daemon) -> None:
    code = 'return await tools.executor.sources.add({command: ["executor-no-such-program", "x"], namespace: "cmd"})'
    view = daemon.execute(code)
    assert view["status"] == "paused"
    assert view["interactions"][0]["arguments"]["command"] == ["executor-no-such-program", "x"]
    daemon.post(f"/v1/executions/{view['executionId']}/cancel")
    policy = daemon.post("/v1/policies", {"pattern": "executor.sources.add", "action": "allow"}).json
    try:
        view = daemon.execute(f"try {{ {code} }} catch (e) {{ return e.code }}")
        assert view["result"] == "consent_required"
    finally:
        daemon.request("DELETE", f"/v1/policies/{policy['id']}")


def test_progress_is_reported_while_a_source_is_read(daemon: Daemon, upstream: Upstream) -> None:
    body = {"location": f"{upstream.url}/openapi.json", "namespace": "slow"}
    stream = {"Accept": "text/event-stream"}
    answer = daemon.post("/v1/sources", body, headers=stream)
    told = events_of(answer.body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert [kind for kind, _ in told[:-1]] == ["progress"] * (len(told) - 1) and len(told) > 2
    assert told[-1][0] == "done" and told[-1][1]["namespace"] == "slow"
    assert any("storing" in data["text"] for _, data in told[:-1])
    again = events_of(daemon.post("/v1/sources", body, headers=stream).body)
    assert again[-1][0] == "problem" and again[-1][1]["code"] == "namespace_taken"
    refreshed = events_of(daemon.post("/v1/sources/slow/refresh", {}, headers=stream).body)
    assert refreshed[-1][0] == "done" and refreshed[-1][1]["added"] == []
    daemon.request("DELETE", "/v1/sources/slow")


def test_what_was_called_can_be_looked_up_after_the_source_is_gone(daemon: Daemon, connected: Any) -> None:
    view = daemon.execute("return await tools.keyed.things.listThings()")
    daemon.request("DELETE", "/v1/sources/keyed")
    [call] = daemon.get(f"/v1/executions/{view['executionId']}/calls").json["items"]
    version = daemon.get(f"/v1/tool-versions/{call['schemaDigest']}", role="agent")
    assert version.status == 200
    assert version.json["path"] == "keyed.things.listThings"
    assert "listThings" in version.json["signature"] and "inputSchema" in version.json
    assert daemon.get("/v1/tool-versions/0000").status == 404


def test_templates_are_listed(daemon: Daemon) -> None:
    items = daemon.get("/v1/templates", role="agent").json["items"]
    assert {"github", "stripe", "slack"} <= {item["id"] for item in items}
    assert all(item["location"] and item["kind"] for item in items)


def test_an_agent_sees_only_the_first_word_of_a_command(daemon: Daemon) -> None:
    from executor.model.source import Source
    from executor.surfaces.views.catalog.sources import source_view

    source = Source("src_1", "ws", "mcp", "n", "N", {"command": ["npx", "--token=abc"], "headers": [["A", "b"]]})
    assert source_view(source)["command"] == ["npx"]
    assert source_view(source, secrets=True)["command"] == ["npx", "--token=abc"]


def test_a_source_is_added_in_familiar_words_and_kept_in_our_own(daemon: Daemon, upstream: Upstream) -> None:
    service, document = f"{upstream.url}/v2", f"{upstream.url}/openapi.json"
    said = {"kind": "openapi", "endpoint": service, "specUrl": document, "transport": "streamable-http"}
    added = daemon.post("/v1/sources", {**said, "namespace": "familiar"})
    assert added.status == 201, added.body
    shown = daemon.get("/v1/sources/familiar").json
    assert (shown["location"], shown["baseUrl"]) == (document, service)
    other = daemon.post("/v1/sources", {"location": "http://a.example", "url": "http://b.example"})
    assert (other.status, other.json["detail"]) == (400, "`location` and `url` name different addresses")
    assert daemon.request("DELETE", "/v1/sources/familiar").status == 200


def test_adding_a_document_by_its_address_posts_nothing(daemon: Daemon, upstream: Upstream) -> None:
    body = {"location": f"{upstream.url}/openapi.json", "baseUrl": upstream.url, "namespace": "polite"}
    assert daemon.post("/v1/sources", body).status == 201
    assert {got.method for got in upstream.requests} == {"GET"}
    assert daemon.request("DELETE", "/v1/sources/polite").status == 200
