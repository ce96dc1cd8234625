"""What a source was read from, what reading it again changed, what depends on it, what one would offer."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sources.openapi.documents import answers, document, json_body
from tests.sources.upstream import Reply, Upstream, as_json, serving
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon

SERVER = Path(__file__).parents[2] / "sources" / "mcp" / "servers" / "real.py"
LOOK = {"operationId": "listThings", "tags": ["things"], "summary": "List things"}
NAME = {"type": "string"}
GONE = {"/old": {"get": {"operationId": "listOld", "tags": ["old"]}}}


def create_operation(schema: Any) -> dict[str, Any]:
    return {
        "operationId": "createThing",
        "tags": ["things"],
        "requestBody": json_body({"$ref": "#/components/schemas/Thing"}),
        "responses": answers({"type": "object"}),
    }


def paths(summary: str = "List things", **properties: Any) -> dict[str, Any]:
    thing = {"type": "object", "properties": properties}
    found = {"/things": {"get": {**LOOK, "summary": summary}, "post": create_operation(thing)}}
    return {"paths": found, "components": {"schemas": {"Thing": thing}}}


def serve(upstream: Upstream, told: dict[str, Any], **more: Any) -> None:
    upstream.routes["/openapi.json"] = as_json(
        document({**told["paths"], **more}, components=told["components"], servers=[{"url": upstream.url}])
    )


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with serving() as server:
        serve(server, paths(name=NAME), **GONE)
        server.otherwise = as_json([])
        yield server


@pytest.fixture
def read(daemon: Daemon, upstream: Upstream) -> Iterator[Any]:
    added = daemon.post("/v1/sources", {"location": f"{upstream.url}/openapi.json", "namespace": "read"})
    assert added.status == 201, added.body
    yield added.json
    daemon.request("DELETE", "/v1/sources/read")


def test_the_document_is_kept_as_it_came_and_given_whole_or_in_parts(
    daemon: Daemon, upstream: Upstream, read: Any
) -> None:
    whole = daemon.get("/v1/sources/read/document")
    reply = upstream.routes["/openapi.json"]
    assert isinstance(reply, Reply) and whole.body == reply.body
    assert whole.headers["content-type"] == "application/json"
    assert whole.headers["x-document-size"] == str(len(reply.body))
    assert whole.headers["content-disposition"] == 'inline; filename="read.json"'
    assert "default-src 'none'" in whole.headers["content-security-policy"]
    part = daemon.get("/v1/sources/read/document?offset=10&limit=20&download=true")
    assert part.body == reply.body[10:30] and part.headers["content-disposition"].startswith("attachment")
    assert daemon.get("/v1/sources/read/document", role="agent").status == 403
    upstream.routes["/openapi.json"] = Reply(
        200, b"openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths: {/a: {get: {}}}\n"
    )
    assert daemon.post("/v1/sources/read/refresh").status == 200
    again = daemon.get("/v1/sources/read/document")
    assert again.headers["content-type"].startswith("application/yaml") and again.body.startswith(b"openapi: 3.1.0")


def test_a_document_never_shows_a_header_that_the_service_echoes(daemon: Daemon, upstream: Upstream) -> None:
    upstream.routes["/openapi.json"] = as_json(
        document({"/a": {"get": {"description": "s3cret-echo-81"}}}, servers=[{"url": upstream.url}])
    )
    body = {"location": f"{upstream.url}/openapi.json", "namespace": "echo", "headers": {"X-Key": "s3cret-echo-81"}}
    assert daemon.post("/v1/sources", body).status == 201
    kept = daemon.get("/v1/sources/echo/document")
    assert kept.status == 200 and b"s3cret-echo-81" not in kept.body
    daemon.request("DELETE", "/v1/sources/echo")


def test_changes_are_reported_field_by_field_long_after_the_refresh(
    daemon: Daemon, upstream: Upstream, read: Any
) -> None:
    assert daemon.get("/v1/sources/read/changes").json["revision"] is None
    new = {"/new": {"get": {"operationId": "listNew", "tags": ["new"]}}}
    serve(upstream, paths("List all the things", name={"type": "integer"}, colour=NAME), **new)
    assert daemon.post("/v1/sources/read/refresh").json["changed"] == ["read.things.createThing"]
    assert daemon.post("/v1/sources/read/refresh").json["unchanged"] is True
    told = daemon.get("/v1/sources/read/changes").json
    revision = told["revision"]
    assert [revision[name] for name in ("added", "removed", "changed", "reworded")] == [1, 1, 1, 1]
    assert told["refreshedAt"] > revision["at"] and len(told["revisions"]) == 1
    items = {item["path"]: item for item in told["items"]}
    assert {path: item["change"] for path, item in items.items()} == {
        "read.new.listNew": "added",
        "read.old.listOld": "removed",
        "read.things.createThing": "changed",
        "read.things.listThings": "reworded",
    }
    changed = [(one["at"], one["what"], one["now"]) for one in items["read.things.createThing"]["differences"]]
    assert ("input.name", "type", "integer") in changed and ("input.colour", "added", "string") in changed
    [words] = items["read.things.listThings"]["differences"]
    assert words["what"] == "description" and "all the things" in words["now"]
    before = daemon.get(f"/v1/tool-versions/{items['read.things.createThing']['before']}").json
    assert before["path"] == "read.things.createThing"
    first = daemon.get("/v1/sources/read/changes?limit=1").json
    assert first["next"] == "read.new.listNew"
    rest = daemon.get(f"/v1/sources/read/changes?limit=3&after={first['next']}&at={revision['at']}").json
    assert len(rest["items"]) == 3 and rest["next"] is None
    assert daemon.get("/v1/sources/read/changes?at=2001-01-01T00:00:00Z").status == 404
    assert daemon.get("/v1/sources/read/changes?at=tomorrow").status == 400


def test_dependents_are_credentials_policies_waiting_calls_and_recent_calls(
    daemon: Daemon, upstream: Upstream, read: Any
) -> None:
    policy = daemon.post("/v1/policies", {"pattern": "read.**", "action": "require_approval"}).json
    other = daemon.post("/v1/policies", {"pattern": "shop.**", "action": "allow"}).json
    credential = {"source": "read", "values": {"token": "x"}, "name": "mine", "placements": [
        {"in": "header", "name": "Authorization", "template": "Bearer {token}"}]}  # fmt: skip
    assert daemon.post("/v1/connections", credential).status == 201
    paused = daemon.execute('return await tools.read.things.createThing({name: "x"})')
    assert paused["status"] == "paused"
    told = daemon.get("/v1/sources/read/dependents").json
    assert [one["name"] for one in told["connections"]] == ["mine"]
    assert [one["id"] for one in told["policies"]] == [policy["id"]]
    assert [(one["executionId"], one["tool"]) for one in told["waiting"]] == [
        (paused["executionId"], "read.things.createThing")
    ]
    assert told["recent"]["calls"] >= 1 and told["recent"]["lastAt"] and told["tools"] == 3
    for one in (policy, other):
        daemon.request("DELETE", f"/v1/policies/{one['id']}")
    daemon.post(f"/v1/executions/{paused['executionId']}/cancel")


def test_dependents_tell_no_one_of_the_connections_that_others_have_for_themselves(daemon: Daemon, read: Any) -> None:
    """`may_see` in `find_dependents`, as in the list of connections."""
    credential = {"source": "read", "values": {"token": "x"}, "name": "private", "scope": "actor", "placements": [
        {"in": "header", "name": "Authorization", "template": "Bearer {token}"}]}  # fmt: skip
    assert daemon.post("/v1/connections", credential).status == 201
    viewer = identities.invite(daemon, "viewer")
    told = viewer.get("/v1/sources/read/dependents")
    assert told.status == 200 and b"private" not in told.body
    assert b"private" in daemon.get("/v1/sources/read/dependents").body


def test_a_preview_shows_the_tools_and_connects_nothing(daemon: Daemon, upstream: Upstream) -> None:
    told = daemon.post("/v1/sources/preview", {"location": f"{upstream.url}/openapi.json", "namespace": "pre"}).json
    assert told["toolCount"] == 3
    assert {one["path"]: one["effect"] for one in told["tools"]}["pre.things.createThing"] == "write"
    assert daemon.get("/v1/sources/pre").status == 404
    assert daemon.get("/v1/sources/pre/document").status == 404


def test_a_command_is_previewed_only_with_consent(daemon: Daemon) -> None:
    body = {"command": [sys.executable, str(SERVER), "stdio"], "namespace": "local"}
    refused = daemon.post("/v1/sources/preview", body)
    assert refused.json["code"] == "consent_required"
    assert daemon.post("/v1/sources/preview", {**body, "consent": True}).json["toolCount"] > 0


def test_a_failed_look_names_the_request(daemon: Daemon, upstream: Upstream) -> None:
    upstream.routes["/openapi.json"] = as_json({}, 500)
    refused = daemon.post("/v1/sources", {"location": f"{upstream.url}/openapi.json?key=s3", "kind": "openapi"}).json
    assert refused["request"] == {"method": "GET", "url": f"{upstream.url}/openapi.json?key=…", "status": 500}
    nobody = daemon.post("/v1/sources/probe", {"location": "http://127.0.0.1:9/openapi.json"}).json
    assert nobody["request"]["url"] == "http://127.0.0.1:9/openapi.json"


def test_a_source_is_renamed_and_keeps_the_name_when_it_is_read_again(daemon: Daemon, read: Any) -> None:
    assert daemon.request("PATCH", "/v1/sources/read", {"name": "Our things"}).json["name"] == "Our things"
    daemon.post("/v1/sources/read/refresh")
    assert daemon.get("/v1/sources/read").json["name"] == "Our things"
    [happened] = daemon.get("/v1/audit?type=source.edited").json["items"]
    assert (happened["data"]["name"], happened["data"]["settings"]) == ("Our things", ["name"]) and happened["actorId"]
    assert daemon.request("PATCH", "/v1/sources/read", {"name": ""}).status == 400


def test_an_mcp_servers_list_is_its_document(daemon: Daemon) -> None:
    body = {"command": [sys.executable, str(SERVER), "stdio"], "namespace": "listed", "consent": True}
    assert daemon.post("/v1/sources", body).status == 201
    kept = daemon.get("/v1/sources/listed/document")
    assert {"name", "inputSchema"} <= json.loads(kept.body)["tools"][0].keys()
    daemon.request("DELETE", "/v1/sources/listed")


@pytest.mark.parametrize("part", ["document", "changes", "dependents"])
def test_what_is_not_there_is_not_found(daemon: Daemon, part: str) -> None:
    assert daemon.get(f"/v1/sources/nowhere/{part}").json["code"] == "not_found"
