"""What people take for reads: tools that a server calls read-only, and searches that are sent as POST."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sources.openapi.documents import document
from tests.sources.upstream import Upstream, as_json, serving
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.api.test_tool_selection import SDL, operation

SERVER = Path(__file__).parents[2] / "sources" / "mcp" / "servers" / "listed.py"
READS = {"readOnlyHint": True}


def tool(name: str, annotations: dict[str, bool] | None = None, description: str = "it") -> dict[str, Any]:
    schema = {"type": "object", "properties": {}}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": annotations or {}}


TOOLS = [
    tool("look", READS),
    tool("peek", READS),
    tool("odd", {"readOnlyHint": True, "destructiveHint": True}),
    tool("soft", {"destructiveHint": False}),
    tool("plain"),
]


@pytest.fixture
def tools_file(daemon: Daemon, tmp_path: Path) -> Iterator[Path]:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(TOOLS))
    yield file
    clean(daemon)


def clean(daemon: Daemon) -> None:
    for policy in daemon.get("/v1/policies").json["items"]:
        daemon.request("DELETE", f"/v1/policies/{policy['id']}")
    for namespace in ("srv", "cal", "graph"):
        daemon.request("DELETE", f"/v1/sources/{namespace}")


def add(daemon: Daemon, file: Path, **more: Any) -> Any:
    body = {"command": [sys.executable, str(SERVER), str(file)], "namespace": "srv", "consent": True, **more}
    added = daemon.post("/v1/sources", body)
    assert added.status == 201, added.body
    return added.json


def call(daemon: Daemon, name: str) -> str:
    return str(daemon.execute(f"return await tools.srv.{name}({{}})")["status"])


def accept_changes(daemon: Daemon) -> None:
    waiting = daemon.get("/v1/sources/srv/review").json["items"]
    if waiting:
        seen = [{"path": one["path"], "digest": one["digest"]} for one in waiting]
        assert daemon.post("/v1/sources/srv/review/accept", {"tools": seen}).status == 200


def decision_about(daemon: Daemon, path: str) -> Any:
    return daemon.post("/v1/policies/test", {"path": path}).json


def test_a_server_is_not_trusted_by_itself_and_a_person_may_trust_it_and_take_that_back(
    daemon: Daemon, tools_file: Path
) -> None:
    added = add(daemon, tools_file)
    assert added["hints"] == {"claimed": ["srv.look", "srv.peek"], "trusted": [], "policyId": None}
    assert call(daemon, "look") == "paused"
    hints = daemon.request("PUT", "/v1/sources/srv/hints", {"decision": "trust"}).json
    assert hints["trusted"] == ["srv.look", "srv.peek"] and hints["policyId"]
    assert call(daemon, "look") == "completed"
    for name in ("odd", "soft", "plain"):
        assert call(daemon, name) == "paused"
    [policy] = daemon.get("/v1/policies?reach=true").json["items"]
    assert policy["matches"] == 2
    assert policy["madeFor"]["basis"] == "hints" and policy["madeFor"]["tools"] == 2 and "server says" in policy["text"]
    assert decision_about(daemon, "srv.peek")["policyId"] == policy["id"]
    [happened, *_] = daemon.get("/v1/audit?type=policy.added").json["items"]
    assert happened["data"]["made_for"]["basis"] == "hints" and happened["actorId"]
    assert daemon.request("PUT", "/v1/sources/srv/hints", {"decision": "ask"}).json["trusted"] == []
    assert call(daemon, "look") == "paused" and daemon.get("/v1/policies").json["items"] == []


@pytest.mark.parametrize("change", ["hint", "schema", "description", "another"])
def test_what_a_server_says_later_is_asked_about(daemon: Daemon, tools_file: Path, change: str) -> None:
    assert len(add(daemon, tools_file, hints="trust")["hints"]["trusted"]) == 2
    tools = json.loads(json.dumps(TOOLS))
    if change == "hint":
        tools[4]["annotations"] = READS
    elif change == "schema":
        tools[0]["inputSchema"]["properties"] = {"to": {"type": "string"}}
    elif change == "description":
        tools[0]["description"] = "it, and now it also pays the bill"
    else:
        tools.append(tool("fresh", READS))
    tools_file.write_text(json.dumps(tools))
    assert daemon.post("/v1/sources/srv/refresh").status == 200
    name = {"hint": "plain", "another": "fresh"}.get(change, "look")
    assert call(daemon, name) == ("failed" if change in ("hint", "schema") else "paused")
    accept_changes(daemon)
    assert call(daemon, name) == "paused" and call(daemon, "peek") == "completed"
    hints = daemon.get("/v1/sources/srv/hints").json
    assert f"srv.{name}" in hints["claimed"] and f"srv.{name}" not in hints["trusted"]
    again = daemon.request("PUT", "/v1/sources/srv/hints", {"decision": "trust"}).json
    assert again["trusted"] == again["claimed"] and call(daemon, name) == "completed"
    assert len(daemon.get("/v1/policies").json["items"]) == 1


def test_some_of_the_tools_are_chosen_and_renewing_the_policy_takes_in_nothing_else(
    daemon: Daemon, tools_file: Path
) -> None:
    add(daemon, tools_file)
    refused = daemon.request("PUT", "/v1/sources/srv/hints", {"decision": "trust", "tools": ["srv.plain"]})
    assert refused.status == 400 and "srv.look" in refused.json["hint"]
    chosen = daemon.request("PUT", "/v1/sources/srv/hints", {"decision": "trust", "tools": ["srv.peek"]}).json
    assert chosen["trusted"] == ["srv.peek"] and call(daemon, "look") == "paused"
    assert daemon.post(f"/v1/policies/{chosen['policyId']}/renew").status == 200
    assert call(daemon, "look") == "completed"
    for name in ("odd", "soft", "plain"):
        assert call(daemon, name) == "paused"


@pytest.mark.parametrize("action", ["deny", "require_approval"])
def test_trust_never_comes_before_another_policy(daemon: Daemon, tools_file: Path, action: str) -> None:
    add(daemon, tools_file, hints="trust")
    made = daemon.post("/v1/policies", {"pattern": "srv.**", "action": action, "effect": "write"})
    assert made.status == 201 and decision_about(daemon, "srv.look")["action"] == action
    seen = daemon.get("/v1/tools/srv.look", role="agent").status
    assert seen == (404 if action == "deny" else 200)


def test_only_mcp_servers_give_hints_and_only_policy_makers_trust_them(daemon: Daemon, tools_file: Path) -> None:
    add(daemon, tools_file)
    for who in (identities.invite(daemon, "member"), identities.invite(daemon, "viewer")):
        assert who.request("PUT", "/v1/sources/srv/hints", {"decision": "trust"}).status == 403
        assert who.post("/v1/tools/srv.plain/treat-as-read").status == 403
    assert daemon.request("PUT", "/v1/sources/srv/hints", {"decision": "trust"}, role="agent").status == 403
    assert daemon.post("/v1/tools/srv.plain/treat-as-read", role="agent").status == 403
    graph = {"document": SDL, "baseUrl": "http://127.0.0.1:9/graphql", "kind": "graphql", "namespace": "graph"}
    assert "only MCP" in daemon.post("/v1/sources", {**graph, "hints": "trust"}).json["detail"]
    assert daemon.post("/v1/sources", graph).json["hints"] is None
    assert daemon.request("PUT", "/v1/sources/graph/hints", {"decision": "trust"}).status == 400


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with serving() as server:
        server.otherwise = as_json([])
        yield server


def serve(upstream: Upstream, **more: Any) -> None:
    paths = {
        "/freeBusy": {"post": operation("freebusy.query", "freebusy", **more)},
        "/search/jql": {"post": operation("searchForIssuesUsingJql", "search")},
        "/search/index": {"post": operation("createSearchIndex", "search")},
        "/events": {"post": operation("insertEvent", "events"), "put": operation("listEvents", "events")},
    }
    upstream.routes["/openapi.json"] = as_json(document(paths, servers=[{"url": upstream.url}]))


@pytest.fixture
def cal(daemon: Daemon, upstream: Upstream) -> Iterator[None]:
    serve(upstream)
    added = daemon.post("/v1/sources", {"location": f"{upstream.url}/openapi.json", "namespace": "cal"})
    assert added.status == 201, added.body
    yield
    clean(daemon)


SEARCH = "return await tools.cal.search.searchForIssuesUsingJql({})"


def request_approval(daemon: Daemon, code: str = SEARCH) -> Any:
    paused = daemon.execute(code, typecheck="off")
    assert paused["status"] == "paused", paused
    return daemon.get(f"/v1/interactions/{paused['interactions'][0]['id']}").json


@pytest.mark.parametrize(
    ("code", "suggested"),
    [
        (SEARCH, True),
        ("return await tools.cal.freebusy.query({})", True),
        ("return await tools.cal.search.createSearchIndex({})", False),
        ("return await tools.cal.events.insertEvent({})", False),
        ("return await tools.cal.events.listEvents({})", False),
    ],
)
def test_a_write_that_looks_like_a_read_is_suggested_and_never_taken_for_one(
    daemon: Daemon, cal: None, code: str, suggested: bool
) -> None:
    names = {one["path"]: one for one in daemon.get("/v1/tools?prefix=cal.").json["items"]}
    if "freebusy" in code:
        [path] = [one for one in names if ".freebusy." in one]
        code = f"return await tools.{path}({{}})"
    approval = request_approval(daemon, code)
    assert bool(approval["suggestion"]) == suggested and ("Suggestion:" in approval["prompt"]) == suggested
    assert request_approval(daemon, code)["status"] == "pending"


@pytest.mark.parametrize("language", ["typescript", "python"])
def test_a_tool_is_treated_as_a_read_with_the_approval_until_it_changes_or_the_policy_goes(
    daemon: Daemon, upstream: Upstream, cal: None, language: str
) -> None:
    approval = request_approval(daemon)
    drafted = daemon.get(f"/v1/interactions/{approval['id']}/rule?treatAsRead=true").json
    assert drafted["rule"]["madeFor"]["basis"] == "read" and drafted["matches"]["count"] == 1
    approved = daemon.post(f"/v1/interactions/{approval['id']}/approve", {"treatAsRead": True})
    assert approved.status == 200, approved.body
    code = SEARCH if language == "typescript" else "await tools.cal.search.searchForIssuesUsingJql()"
    assert daemon.execute(code, language=language)["status"] == "completed"
    shown = daemon.get("/v1/tools/cal.search.searchForIssuesUsingJql").json
    assert shown["effect"] == "write"  # what becomes of a lost answer stays as it is for writes
    [policy] = daemon.get("/v1/policies").json["items"]
    assert "treated as a read" in policy["text"] and policy["actorId"] is None
    changed = {"requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}}
    upstream.routes["/openapi.json"] = as_json(
        document(
            {"/search/jql": {"post": operation("searchForIssuesUsingJql", "search", **changed)}},
            servers=[{"url": upstream.url}],
        )
    )
    assert daemon.post("/v1/sources/cal/refresh").status == 200
    again = request_approval(daemon)
    assert again["changed"]["policyId"] == policy["id"]
    assert daemon.post(f"/v1/interactions/{again['id']}/approve", {"treatAsRead": True}).status == 200
    assert [one["id"] for one in daemon.get("/v1/policies").json["items"]] == [policy["id"]]
    assert daemon.execute(SEARCH)["status"] == "completed"
    daemon.request("DELETE", f"/v1/policies/{policy['id']}")
    assert daemon.execute(SEARCH)["status"] == "paused"


def test_a_tool_is_treated_as_a_read_from_its_page_and_policies_come_first(daemon: Daemon, cal: None) -> None:
    made = daemon.post("/v1/tools/cal.search.searchForIssuesUsingJql/treat-as-read")
    assert made.status == 201, made.body
    assert daemon.execute(SEARCH)["status"] == "completed"
    asking = daemon.post("/v1/policies", {"pattern": "cal.**", "action": "require_approval"}).json
    approval = request_approval(daemon)
    assert approval["policyId"] == asking["id"]
    refused = daemon.post(f"/v1/interactions/{approval['id']}/approve", {"treatAsRead": True})
    assert refused.status == 409 and "cal.**" in refused.json["detail"]


@pytest.mark.parametrize(
    "path", ["cal.events.listEvents", "graph.mutation.rename", "graph.graphql.mutate", "executor.sources.add"]
)
def test_what_no_person_can_call_a_read_is_refused(daemon: Daemon, cal: None, path: str) -> None:
    graph = {"document": SDL, "baseUrl": "http://127.0.0.1:9/graphql", "kind": "graphql", "namespace": "graph"}
    daemon.post("/v1/sources", graph)
    refused = daemon.post(f"/v1/tools/{path}/treat-as-read")
    assert refused.status == 400 and "can't be treated as a read" in refused.json["detail"]
    assert daemon.post("/v1/tools/graph.query.user/treat-as-read").status == 400


def test_a_member_may_approve_and_not_make_the_policy(daemon: Daemon, cal: None) -> None:
    approval = request_approval(daemon)
    member = identities.invite(daemon, "member")
    assert member.post(f"/v1/interactions/{approval['id']}/approve", {"treatAsRead": True}).status == 403
    body = {"treatAsRead": True, "scope": "execution"}
    assert daemon.post(f"/v1/interactions/{approval['id']}/approve", body).status == 400
