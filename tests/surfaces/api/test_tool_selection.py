"""Which of a source's tools exist: chosen when it is added, kept when it is read again, changed later."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sources.openapi.documents import answers, document
from tests.sources.upstream import Upstream, as_json, serving
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon

SERVER = Path(__file__).parents[2] / "sources" / "mcp" / "servers" / "real.py"
SDL = """
type Query { user(id: ID!): String  secret(id: ID!): String  search(text: String!): String }
type Mutation { rename(id: ID!, name: String!): String  deleteUser(id: ID!): String }
"""
PAGE = [{"name": "page", "in": "query", "schema": {"type": "integer", "default": 1}}]
LIST = {"type": "array", "items": {"$ref": "#/components/schemas/Issue"}}


def operation(name: str, tag: str, **more: Any) -> dict[str, Any]:
    return {"operationId": name, "tags": [tag], "responses": answers({}), **more}


PATHS: dict[str, Any] = {
    "/repos/{id}/issues": {
        "get": operation("listIssues", "issues", parameters=PAGE, responses=answers(LIST)),
        "post": operation("createIssue", "issues"),
    },
    "/repos/{id}": {"get": operation("getRepo", "repos"), "delete": operation("deleteRepo", "repos")},
    "/admin/users": {"get": operation("listUsers", "Admin")},
    "/admin/users/{id}": {"delete": operation("deleteUser", "Admin")},
}
for where, item in PATHS.items():
    if "{id}" in where:
        item["parameters"] = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]


def serve(upstream: Upstream, **more: Any) -> None:
    schemas = {"Issue": {"type": "object", "properties": {"of": {"$ref": "#/components/schemas/User"}}}, "User": {}}
    told = document({**PATHS, **more}, components={"schemas": schemas}, servers=[{"url": upstream.url}])
    upstream.routes["/openapi.json"] = as_json(told)


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with serving() as server:
        server.otherwise = as_json([])
        yield server


def add(daemon: Daemon, upstream: Upstream, **more: Any) -> Any:
    serve(upstream)
    return daemon.post("/v1/sources", {"location": f"{upstream.url}/openapi.json", "namespace": "hub", **more})


@pytest.fixture
def hub(daemon: Daemon) -> Iterator[None]:
    yield
    daemon.request("DELETE", "/v1/sources/hub")


def names(daemon: Daemon, namespace: str = "hub") -> list[str]:
    items = daemon.get(f"/v1/tools?prefix={namespace}.").json["items"]
    return [one["path"].removeprefix(f"{namespace}.") for one in items]


ISSUES = ["issues.createIssue", "issues.listIssues", "issues.listIssues.all"]


@pytest.mark.parametrize(
    ("include", "exclude", "left"),
    [
        (["tag:issues"], [], ISSUES),
        (["TAG:x"], [], "matches none"),
        (["tag:ISSUES"], ["method:post"], ["issues.listIssues", "issues.listIssues.all"]),
        (["path:/repos/*"], [], ["repos.deleteRepo", "repos.getRepo"]),
        (["path:/repos/**"], ["method:DELETE"], [*ISSUES, "repos.getRepo"]),
        ([], ["admin.**", "hub.repos.*"], ISSUES),
        (["*.list*", "repos.getRepo"], [], ["admin.listUsers", *ISSUES[1:], "repos.getRepo"]),
        (["tag:isues"], [], "similar: issues"),
        ([], ["method:PATCH"], "GET"),
        (["issues.listIssue"], [], "issues.listIssues"),
        (["path:/admin/*"], ["tag:admin"], "exclude all 7 tools"),
        (["tag:"], [], "needs a pattern"),
        (["*a*b*c*d*e*f"], [], "more than 5"),
    ],
)  # fmt: skip
def test_filters_leave_the_tools_that_match_or_say_what_is_near(
    daemon: Daemon, upstream: Upstream, hub: None, include: list[str], exclude: list[str], left: list[str] | str
) -> None:
    added = add(daemon, upstream, include=include, exclude=exclude)
    if isinstance(left, str):
        assert added.status == 400, added.body
        assert left in added.json["detail"] + added.json["hint"]
        return
    assert added.status == 201, added.body
    assert names(daemon) == left
    assert added.json["choice"] == {"include": include, "exclude": exclude, "offered": 7}
    assert added.json["toolCount"] == len(left)


@pytest.mark.parametrize("language", ["typescript", "python"])
def test_a_tool_that_is_left_out_does_not_exist(daemon: Daemon, upstream: Upstream, hub: None, language: str) -> None:
    assert add(daemon, upstream, exclude=["tag:admin"]).status == 201
    found = daemon.get("/v1/tools/search?query=hub+list+users&source=hub").json["items"]
    assert all("admin" not in one["path"] for one in found)
    assert daemon.get("/v1/tools/hub.admin.listUsers").status == 404
    policy = {"pattern": "hub.admin.**", "action": "allow"}
    assert daemon.post("/v1/policies/matches", policy).json["count"] == 0
    code = "await tools.hub.admin.listUsers({})" if language == "typescript" else "await tools.hub.admin.listUsers()"
    code = code if language == "python" else f"return {code}"
    outcome = daemon.execute(code, language=language, typecheck="off")
    assert outcome["status"] == "failed" and outcome["error"]["code"] == "unknown_tool"


def test_a_refresh_keeps_to_the_choice_and_new_operations_follow_it(
    daemon: Daemon, upstream: Upstream, hub: None
) -> None:
    assert add(daemon, upstream, include=["tag:issues"]).status == 201
    more = {"/labels": {"get": operation("listLabels", "issues")}, "/teams": {"get": operation("listTeams", "teams")}}
    serve(upstream, **more)
    refreshed = daemon.post("/v1/sources/hub/refresh").json
    assert refreshed["added"] == ["hub.issues.listLabels"] and refreshed["removed"] == []
    assert refreshed["choice"]["offered"] == 9
    told = document({"/teams": {"get": operation("listTeams", "teams")}}, servers=[{"url": upstream.url}])
    upstream.routes["/openapi.json"] = as_json(told)
    gone = daemon.post("/v1/sources/hub/refresh").json
    assert gone["toolCount"] == 0 and [one["where"] for one in gone["skipped"]] == ["tag:issues"]


def test_a_choice_is_previewed_changed_and_reported_like_a_refresh(
    daemon: Daemon, upstream: Upstream, hub: None
) -> None:
    location = {"location": f"{upstream.url}/openapi.json", "namespace": "hub", "include": ["tag:issues"]}
    serve(upstream)
    previewed = daemon.post("/v1/sources/preview", location).json
    assert (previewed["toolCount"], previewed["offered"]) == (3, 7)
    groups = {one["filter"]: one["tools"] for one in previewed["groups"]}
    assert groups["tag:issues"] == 3 and groups["method:DELETE"] == 2
    assert daemon.post("/v1/sources", location).status == 201
    other = {"include": ["tag:issues", "tag:repos"], "exclude": ["method:POST"]}
    tried = daemon.request("PUT", "/v1/sources/hub/choice", {**other, "preview": True}).json
    assert tried["added"] == ["hub.repos.deleteRepo", "hub.repos.getRepo"] and tried["removed"] == [
        "hub.issues.createIssue"
    ]
    assert names(daemon) == ISSUES
    changed = daemon.request("PUT", "/v1/sources/hub/choice", other).json
    assert (changed["added"], changed["removed"]) == (tried["added"], tried["removed"])
    assert daemon.get("/v1/sources/hub/changes").json["revision"]["added"] == 2
    [happened] = daemon.get("/v1/audit?type=source.chosen&limit=1").json["items"]
    assert happened["data"]["include"] == other["include"] and happened["actorId"]
    everything = daemon.request("PUT", "/v1/sources/hub/choice", {}).json
    assert everything["toolCount"] == 7 and everything["choice"] is None


def test_tools_that_policies_or_waiting_calls_depend_on_go_only_when_that_is_said(
    daemon: Daemon, upstream: Upstream, hub: None
) -> None:
    assert add(daemon, upstream).status == 201
    policies = [
        daemon.post("/v1/policies", {"pattern": pattern, "action": "deny"}).json
        for pattern in ("hub.repos.deleteRepo", "hub.**")
    ]
    daemon.request("DELETE", f"/v1/policies/{policies[1]['id']}")
    waiting = daemon.execute('return await tools.hub.issues.createIssue({id: "1"})')
    refused = daemon.request("PUT", "/v1/sources/hub/choice", {"exclude": ["method:POST", "method:DELETE"]})
    assert refused.status == 409
    told = "; ".join(refused.json["dependents"])
    assert policies[0]["id"] in told and "hub.issues.createIssue" in told and len(refused.json["dependents"]) == 2
    assert len(names(daemon)) == 7
    dropped = {"exclude": ["method:POST", "method:DELETE"], "drop": True}
    assert daemon.request("PUT", "/v1/sources/hub/choice", dropped).status == 200
    daemon.post(f"/v1/executions/{waiting['executionId']}/cancel")
    daemon.request("DELETE", f"/v1/policies/{policies[0]['id']}")


def test_only_who_administers_sources_chooses(daemon: Daemon, upstream: Upstream, hub: None) -> None:
    assert add(daemon, upstream).status == 201
    for role in ("member", "viewer"):
        assert identities.invite(daemon, role).request("PUT", "/v1/sources/hub/choice", {}).status == 403
    assert daemon.request("PUT", "/v1/sources/hub/choice", {}, role="agent").status == 403


def test_an_uploaded_document_can_be_chosen_from_again(daemon: Daemon, hub: None) -> None:
    body = {"document": SDL, "baseUrl": "http://127.0.0.1:9/graphql", "kind": "graphql", "namespace": "hub"}
    added = daemon.post("/v1/sources", {**body, "include": ["method:query"], "exclude": ["query.secret"]})
    assert added.status == 201, added.body
    assert names(daemon) == ["graphql.query", "graphql.type", "query.search", "query.user"]
    changed = daemon.request("PUT", "/v1/sources/hub/choice", {"exclude": ["*.delete*"]})
    assert changed.status == 200, changed.body
    assert "hub.mutation.rename" in changed.json["added"] and "hub.mutation.deleteUser" not in names(daemon)


@pytest.mark.parametrize(
    "document",
    ['{ user(id: "1") secret(id: "1") }', '{ ...x } fragment x on Query { a: secret(id: "1") }', '{ secret(id: "1") }'],
)
def test_a_graphql_document_can_not_reach_a_field_that_was_left_out(daemon: Daemon, hub: None, document: str) -> None:
    body = {"document": SDL, "baseUrl": "http://127.0.0.1:9/graphql", "kind": "graphql", "namespace": "hub"}
    assert daemon.post("/v1/sources", {**body, "exclude": ["query.secret"]}).status == 201
    outcome = daemon.execute(f"return await tools.hub.graphql.query({{query: {document!r}}})", typecheck="off")
    assert outcome["status"] == "failed" and outcome["error"]["code"] == "unknown_tool", outcome
    assert "query.secret" in outcome["error"]["message"]


def test_mcp_tools_are_chosen_by_name_and_other_filters_say_that_they_do_not_apply(daemon: Daemon, hub: None) -> None:
    body = {"command": [sys.executable, str(SERVER), "stdio"], "namespace": "hub", "consent": True}
    refused = daemon.post("/v1/sources", {**body, "include": ["tag:things"]})
    assert refused.status == 400 and "does not apply" in refused.json["detail"]
    graph = {"document": SDL, "baseUrl": "http://127.0.0.1:9/graphql", "kind": "graphql", "namespace": "hub"}
    assert "have no paths" in daemon.post("/v1/sources", {**graph, "include": ["path:/x"]}).json["detail"]
    assert daemon.post("/v1/sources", {**body, "include": ["p*", "add"], "exclude": ["picture"]}).status == 201
    assert "add" in names(daemon) and "peek" in names(daemon) and "picture" not in names(daemon)
    assert "greet" not in names(daemon)
