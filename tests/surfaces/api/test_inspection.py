"""Definitions and manifests: what there is to call, of one source or of all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.catalog.checkers import typescript_says
from tests.sources.graphql.service import Service
from tests.sources.upstream import serving
from tests.support.notes import DONE, Notes
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon, running_daemon

MORE = {
    "/look": {"get": {"tags": ["n"], "operationId": "look", "responses": DONE}},
    "/all": {"delete": {"tags": ["n"], "operationId": "drop", "responses": DONE}},
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("inspection"), typecheck="off") as made, serving() as server:
        notes = Notes(server.url)
        notes.more = MORE
        server.otherwise = notes
        for name in ("notes", "other"):
            body = {"location": f"{server.url}/openapi.json", "kind": "openapi", "namespace": name}
            assert made.post("/v1/sources", body).status == 201
        yield made


@pytest.fixture(autouse=True)
def clean(daemon: Daemon) -> Iterator[None]:
    yield
    for policy in daemon.get("/v1/policies").json["items"]:
        daemon.request("DELETE", f"/v1/policies/{policy['id']}")
    daemon.request("PUT", "/v1/sources/notes/defaults", {})


def manifest(daemon: Daemon, path: str = "/v1/catalog/manifest", **options: Any) -> Any:
    answer = daemon.get(path, **options)
    assert answer.status == 200, answer.body
    return answer.json


def actions(found: Any) -> dict[str, str]:
    return {one["path"]: one["policy"]["action"] for one in found["items"]}


def test_a_manifest_has_each_tool_with_effect_digest_and_the_policy_in_force(daemon: Daemon) -> None:
    policy = daemon.post("/v1/policies", {"pattern": "notes.n.add", "action": "allow"}).json
    daemon.request("PUT", "/v1/sources/notes/defaults", {"destructive": "deny"})
    found = manifest(daemon, "/v1/sources/notes/manifest")
    assert actions(found) == {"notes.n.add": "allow", "notes.n.drop": "deny", "notes.n.look": "allow"}
    add, drop, look = found["items"]
    assert (add["effect"], add["policy"]["policyId"], add["source"]) == ("write", policy["id"], "notes")
    assert drop["policy"]["reason"] == "the default of the source notes for destructive calls → deny"
    assert daemon.get(f"/v1/tool-versions/{look['digest']}").json["path"] == "notes.n.look"
    assert [one["namespace"] for one in found["sources"]] == ["notes"] and found["next"] is None
    tested = [daemon.post("/v1/policies/test", {"path": one["path"]}).json["action"] for one in found["items"]]
    assert tested == list(actions(found).values())


def test_a_policy_that_looks_at_arguments_is_marked(daemon: Daemon) -> None:
    condition = {"path": "/text", "test": "equals", "value": "secret"}
    made = daemon.post("/v1/policies", {"pattern": "notes.n.add", "action": "deny", "conditions": [condition]})
    assert made.status == 201, made.body
    by_path = {one["path"]: one["policy"] for one in manifest(daemon)["items"]}
    assert by_path["notes.n.add"]["conditional"] and not by_path["notes.n.look"]["conditional"]


def test_the_manifest_of_all_sources_comes_whole_or_in_pages(daemon: Daemon) -> None:
    whole = manifest(daemon)
    assert [one["namespace"] for one in whole["sources"]] == ["notes", "other"] and len(whole["items"]) == 6
    first = manifest(daemon, "/v1/catalog/manifest?limit=4")
    rest = manifest(daemon, f"/v1/catalog/manifest?limit=4&after={first['next']}")
    assert first["items"] + rest["items"] == whole["items"] and rest["next"] is None
    saved = daemon.get("/v1/catalog/manifest?download=true")
    assert saved.headers["content-disposition"] == 'attachment; filename="tools.manifest.json"'
    assert daemon.get("/v1/catalog/manifest?limit=0").status == 400
    assert daemon.get("/v1/sources/nowhere/manifest").status == 404


def test_definitions_for_typescript_are_what_a_compiler_takes(daemon: Daemon, tmp_path: Path) -> None:
    answer = daemon.get("/v1/sources/notes/definitions")
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["content-disposition"] == 'inline; filename="notes.d.ts"'
    text = answer.body.decode()
    good = 'await tools.notes.n.add({text: "hi"}); export {}'
    assert typescript_says(tmp_path / "good", text, good) == []
    assert typescript_says(tmp_path / "bad", text, "await tools.notes.n.add({text: 5}); export {}")
    assert typescript_says(tmp_path / "other", text, "await tools.other.n.look({}); export {}")
    everything = daemon.get("/v1/catalog/definitions").body.decode()
    both = 'await tools.other.n.look({}); await tools.discover({query: "x"}); export {}'
    assert typescript_says(tmp_path / "all", everything, both) == []


def test_definitions_for_python_are_a_stub_that_stands_alone(daemon: Daemon) -> None:
    answer = daemon.get("/v1/sources/notes/definitions?language=python&download=true")
    assert answer.headers["content-disposition"] == 'attachment; filename="notes.pyi"'
    text = answer.body.decode()
    names = {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)}
    assert {"Call", "Group", "Tools", "tools_notes_n_add"} <= names and "executor_sandbox" not in text
    assert daemon.get("/v1/sources/notes/definitions?language=cobol").status == 400
    assert daemon.get("/v1/sources/nowhere/definitions").status == 404
    ast.parse(daemon.get("/v1/catalog/definitions?language=python").body)


def test_what_policies_deny_to_someone_is_in_neither(daemon: Daemon) -> None:
    daemon.post("/v1/policies", {"pattern": "notes.n.drop", "action": "deny"})
    viewer, agent = identities.invite(daemon, "viewer"), identities.agent(daemon, "a")
    assert "notes.n.drop" not in actions(viewer.get("/v1/catalog/manifest").json)
    assert actions(manifest(daemon))["notes.n.drop"] == "deny"
    for caller in (viewer, agent):
        text = caller.get("/v1/sources/notes/definitions").body.decode()
        assert "look" in text and "drop" not in text
    assert agent.get("/v1/catalog/manifest").status == 403
    stranger = identities.stranger(daemon)
    assert stranger.get("/v1/catalog/manifest").json["items"] == []
    assert stranger.get("/v1/sources/notes/definitions").status == 404


def test_a_tool_that_people_renamed_keeps_the_policies_of_its_own_name(daemon: Daemon) -> None:
    daemon.post("/v1/policies", {"pattern": "other.n.look", "action": "deny"})
    assert daemon.request("PATCH", "/v1/tools/other.n.look", {"path": "other.n.peek"}).status == 200
    try:
        assert actions(manifest(daemon))["other.n.peek"] == "deny"
    finally:
        daemon.request("PATCH", "/v1/tools/other.n.peek", {"path": ""})


def test_graphql_tools_are_judged_as_their_calls_are(daemon: Daemon) -> None:
    with serving() as server:
        server.otherwise = Service()
        body = {"location": f"{server.url}/graphql", "kind": "graphql", "namespace": "graph", "options": {"raw": True}}
        assert daemon.post("/v1/sources", body).status == 201
        view = daemon.execute("return await tools.graph.graphql.query({query: '{ users { id } }'})")
        assert view["status"] == "completed", view
        found = actions(manifest(daemon, "/v1/sources/graph/manifest"))
        tested = {path: daemon.post("/v1/policies/test", {"path": path}).json["action"] for path in found}
        assert "graph.graphql.mutate" in found and found == tested
        daemon.request("DELETE", "/v1/sources/graph")
