"""Words, headers and addresses that people bring along from similar products."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from executor.surfaces.http.page_paths import MOVED, PAGES
from tests.support.rate_limits import stop_rate_limit_clocks
from tests.support.tool_results import about
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.api.identities import Caller, expect_created, nobody

ROUTER = Path(__file__).parents[3] / "web" / "src" / "router.tsx"
CLI_CLIENT = str(Path(__file__).parents[2] / "support" / "cli_client.py")
VERSION = "2025-11-25"
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": VERSION}


def call(**meta: Any) -> dict[str, Any]:
    arguments = {"name": "execute", "arguments": {"code": "return 1"}, **({"_meta": meta} if meta else {})}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}


def test_an_execution_accepts_the_names_of_who_is_asking_and_keeps_the_client(daemon: Daemon) -> None:
    local = daemon.executor.tenancy
    named = {"workspaceId": local.workspace.id, "actorId": local.agent.id, "clientId": "my-ide"}
    view = daemon.execute("return 1", runtimeId="typescript", **named)
    assert (view["result"], view["runtime"]) == (1, "typescript")
    shown = daemon.get(f"/v1/executions/{view['executionId']}?include=code").json
    assert (shown["clientId"], shown["clientName"]) == ("my-ide", None)
    listed = daemon.get("/v1/executions?limit=1").json["items"][0]
    assert (listed["executionId"], listed["clientId"]) == (view["executionId"], "my-ide")
    command = [sys.executable, CLI_CLIENT, str(daemon.port), "executions", "show", view["executionId"]]
    environ = {**os.environ, "EXECUTOR_TOKEN": daemon.tokens.operator}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environ)
    assert re.search(r"^client ID\s+my-ide$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"workspaceId": "ws_other"}, 403, "`workspaceId` is 'ws_other'"),
        ({"actorId": "act_other"}, 403, "`actorId` is 'act_other'"),
        ({"runtime": "typescript", "runtimeId": "python"}, 400, "different runtimes"),
        ({"runtimeId": "cobol"}, 400, "'cobol'"),
        ({"clientId": "a\nb"}, 400, "visible characters"),
        ({"taskId": "x"}, 400, "taskId"),
    ],
)
def test_names_that_contradict_the_credential_are_refused(
    daemon: Daemon, body: dict[str, str], status: int, said: str
) -> None:
    refused = daemon.post("/v1/executions", {"code": "return 1", **body}, role="agent")
    assert refused.status == status and said in str(refused.json)


def test_the_name_that_an_mcp_client_gives_is_kept(daemon: Daemon) -> None:
    about_client = {"name": "Some\u202e IDE é", "version": "1"}
    params = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": about_client}
    opened = daemon.post(
        "/mcp", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}, role="agent", headers=HEADERS
    )
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    for headers, name in ((session, "Some IDE é"), ({}, None), ({"Mcp-Session-Id": "x-name-zz"}, None)):
        answer = daemon.post("/mcp", call(), role="agent", headers={**HEADERS, **headers}).json["result"]
        shown = daemon.get(f"/v1/executions/{about(answer)['executionId']}?include=code").json
        assert shown["clientName"] == name and shown["through"] == "mcp"


def test_the_client_of_an_anonymous_session_is_its_own(daemon: Daemon) -> None:
    daemon.executor.anonymous.starts.clear()
    session = expect_created(nobody(daemon).post("/v1/auth/anonymous/bootstrap"))
    token = nobody(daemon).post("/v1/auth/anonymous/token", {"sessionId": session["sessionId"]}).json["accessToken"]
    it = Caller(daemon, "it", token)
    body = {"code": "return 1", "workspaceId": session["workspaceId"], "actorId": session["actorId"]}
    assert it.post("/v1/executions", {**body, "clientId": session["clientId"]}).status == 201
    refused = it.post("/v1/executions", {**body, "clientId": "cli_other"})
    assert refused.status == 403 and session["clientId"] in refused.json["detail"]


def test_a_known_session_gives_the_same_workspace_actor_and_client(daemon: Daemon) -> None:
    daemon.executor.anonymous.starts.clear()
    session = expect_created(nobody(daemon).post("/v1/auth/anonymous/bootstrap", {}))
    again = nobody(daemon).post("/v1/auth/anonymous/bootstrap", {"sessionId": session["sessionId"]})
    assert (again.status, again.json) == (200, session)
    assert nobody(daemon).post("/v1/auth/anonymous/bootstrap", {"sessionId": "exs_unknown"}).status == 401
    unknown = nobody(daemon).post("/v1/auth/anonymous/bootstrap", {"workspaceId": "ws_mine"})
    assert unknown.status == 400 and "workspaceId" in str(unknown.json)


@pytest.mark.parametrize("address", ["/mcp", "/mcp/anonymous", "/v1/executions"])
def test_a_key_is_accepted_in_its_own_header(daemon: Daemon, address: str) -> None:
    token, other = daemon.tokens.agent, daemon.tokens.operator
    body = {"code": "return 1"} if address.startswith("/v1") else call()

    def status(**headers: str) -> int:
        return daemon.post(address, body, role=None, headers={**HEADERS, **headers}).status

    accepted = 201 if address.startswith("/v1") else 200
    assert status(**{"X-Api-Key": token}) == accepted
    assert status(**{"X-Api-Key": token, "Authorization": f"Bearer {token}"}) == accepted
    assert status(**{"X-Api-Key": token, "Authorization": f"Bearer {other}"}) == 401
    assert status(**{"X-Api-Key": "", "Authorization": f"Bearer {token}"}) == 401
    assert status(**{"X-Api-Key": "unknown"}) == 401


def test_wrong_keys_are_counted_whichever_header_has_them(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = daemon.executor.authenticator.attempts
    attempts.clear()
    stop_rate_limit_clocks(daemon, monkeypatch)
    statuses = set()
    for number in range(200):
        sent = {"X-Api-Key": f"exk_{number}"} if number % 2 else {"Authorization": f"Bearer exk_{number}"}
        statuses.add(daemon.get("/v1/tools", role=None, headers=sent).status)
        if 429 in statuses:
            break
    attempts.clear()
    assert statuses == {401, 429}


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("/api/tasks", "/v1/executions"),
        ("/api/tasks/task_1", "/v1/executions"),
        ("/api/approvals", "/v1/interactions"),
        ("/api/policies", "/v1/policies"),
        ("/api/credentials", "/v1/connections"),
        ("/api/tool-sources", "/v1/sources"),
        ("/api/auth/anonymous/bootstrap", "/v1/auth/anonymous/bootstrap"),
        ("/auth/anonymous/token", "/v1/auth/anonymous/token"),
        ("/api/anything", "/v1/openapi.json"),
    ],
)
def test_an_address_of_a_similar_product_names_the_route(daemon: Daemon, method: str, path: str, own: str) -> None:
    answer = daemon.request(method, path, {} if method == "POST" else None, role=None, headers={"Accept": "text/html"})
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")
    assert own in answer.json["hint"]


def test_every_route_that_is_named_exists(daemon: Daemon) -> None:
    paths = daemon.get("/v1/openapi.json").json["paths"]
    for own in MOVED.values():
        assert any(path == own or path.startswith(f"{own}/") for path in paths), own


def test_what_is_no_page_is_not_found(daemon: Daemon) -> None:
    for path in ("/anything", "/source", "/.env", "/wp-login.php", "/apis", "/authors"):
        answer = daemon.get(path, role=None)
        assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json"), path
    shown = daemon.get("/anything", role=None, headers={"Accept": "text/html,*/*"})
    assert (shown.status, shown.headers["content-type"]) == (404, "text/html; charset=utf-8")


@pytest.mark.parametrize(("path", "page"), [("/tasks", "/executions")])
def test_other_names_of_pages_lead_to_them(daemon: Daemon, path: str, page: str) -> None:
    answer = daemon.get(path, role=None)
    assert (answer.status, answer.headers["location"]) == (307, page)
    assert daemon.get(page, role=None).status == 200


def test_the_server_knows_every_page_of_the_router() -> None:
    paths = re.findall(r'path: "/([^"/$]*)', ROUTER.read_text(encoding="utf-8"))
    assert set(paths) == PAGES
