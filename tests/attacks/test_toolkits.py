"""Attacks 181 to 186: someone in a toolkit sees or reaches what is outside, or a toolkit gives more than it takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.routing import Route

from tests.sources.upstream import Upstream
from tests.support.conditions import wait_for
from tests.support.office import OUTSIDE, add_toolkit, ask_mcp, create_key, execute, office, visits_to_vault
from tests.surfaces.api.daemon_server import Daemon, running_daemon

DESK = "/mcp/toolkits/desk"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def upstream(daemon: Daemon) -> Iterator[Upstream]:
    with office(daemon) as upstream:
        add_toolkit(daemon, "desk")
        add_toolkit(daemon, "other", patterns=["office.vault.*"])
        yield upstream


@pytest.fixture(scope="module")
def key(daemon: Daemon, upstream: Upstream) -> str:
    return create_key(daemon, "desk", "desk-bot")


def words_in(text: str) -> list[str]:
    return [word for word in OUTSIDE if word.lower() in text.lower()]


# -- 181: learn ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["key", "agent"])
@pytest.mark.parametrize(
    "work",
    [
        "tools.discover({query: 'open the vault combination', depth: 2, limit: 100})",
        "tools.discover({limit: 100})",
        "tools.discover({namespace: 'office', limit: 100})",
        "tools.discover({namespace: 'forge', depth: 2, limit: 100, explain: true})",
        "tools.discover({query: 'list repositories', source: 'forge', limit: 100})",
        "tools.describe.tool({path: 'office.notes.listNote'})",
        "tools.describe.tool({path: 'forge.graphql'})",
        "tools.office.notes.lstNotes({})",
        "tools.forge.graphql.query({query: '{ viewr { login } }'})",
        "tools.forge.graphql.query({query: '{ repo }'})",
        "tools.forge.graphql.query({query: '{ viewer { login } } fragment X on Reposito { id }'})",
        "tools.forge.graphql.type({name: 'Query'})",
        "tools.forge.graphql.type({name: 'Mutatio'})",
        "tools.executor.artifacts.list({})",
    ],
)
def test_181_code_in_a_toolkit_learns_nothing_of_what_is_outside(
    daemon: Daemon, key: str, role: str, work: str
) -> None:
    """Defence: `Visibility.toolkit`, asked by everything that finds or describes tools; no suggestions for GraphQL."""
    caught = f"try {{ return await {work} }} catch (e) {{ return [e.code, e.message, e.hint, e.details] }}"
    token = key if role == "key" else daemon.tokens.agent
    said = ask_mcp(daemon, DESK, token, "tools/call", name="execute", arguments={"code": caught})
    assert words_in(json.dumps(said["content"])) == [], said


@pytest.mark.parametrize(
    "path",
    ["office.vault.openVault", "office.vault.listVault", "forge.query.repository", "forge.mutation.createUser",
     "executor.sources.list"],
)  # fmt: skip
def test_181_a_tool_outside_is_answered_like_one_that_does_not_exist(daemon: Daemon, key: str, path: str) -> None:
    """Defence: `Admissions.find_in_reach`, and names without what is hidden for the checker."""
    nothing = f"{path.rpartition('.')[0]}.nothing"
    for ask in (
        lambda one: daemon.get(f"/v1/tools/{one}?includeSchemas=true", role=key).json,
        lambda one: daemon.post("/v1/catalog/check", {"code": f"return await tools.{one}({{}})"}, role=key).json,
        lambda one: execute(daemon, "desk", key, f"return await tools.{one}({{wrong: 1}})"),
        lambda one: execute(daemon, "desk", key, f"return await tools.{one}(wrong=1)", "python"),
        lambda one: execute(
            daemon, "desk", key, f"try {{ await tools[{one!r}]({{}}) }} catch (e) {{ return [e.code, e.message] }}"
        ),
    ):
        inside, without = (json.dumps(ask(one)).replace(one, "X") for one in (path, nothing))
        assert plain(inside, path) == plain(without, nothing)


def plain(text: str, path: str) -> str:
    """Without what differs by chance, or by how much like the tools inside the name is."""
    text = re.sub(r'exec_\w+|column \d+|"(?:endC|c)olumn": \d+|"nearest": \[.*?\]', "", text)
    text = re.sub(r'(Hint: |hint": "|nearest\\+":).*?(?=\\n|"|\\+"])', "", text)
    return re.sub(r"\{\\?.?\"?details.*?\}\}", "", text).replace(path.rpartition(".")[2], "X")


def test_181_the_api_lists_and_completes_only_what_is_inside(daemon: Daemon, key: str) -> None:
    """Defence: `visibility_for`; the following page begins at a visible path; a source without tools is none."""
    for path in (
        "/v1/tools?limit=1000",
        "/v1/tools?limit=1",
        "/v1/tools?limit=3",
        "/v1/tools/search?query=vault+repository&limit=100",
        "/v1/catalog/definitions",
        "/v1/catalog/definitions?language=python",
    ):
        answer = daemon.get(path, role=key)
        assert answer.status == 200 and words_in(answer.body.decode()) == [], (path, answer.body)
    for code in ("tools.", "tools.office.", "tools.forge.", "tools.office.va", "tools.executor."):
        body = {"code": code, "language": "typescript", "offset": len(code)}
        answer = daemon.post("/v1/catalog/complete", body, role=key)
        assert answer.status == 200 and words_in(answer.body.decode()) == [], answer.body


def test_181_mcp_names_only_what_is_inside(daemon: Daemon, upstream: Upstream) -> None:
    add_toolkit(daemon, "notes", patterns=["office.notes.*"], passThrough=["**"])
    token = create_key(daemon, "notes", "notes-bot")
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    for method, params in (("initialize", hello), ("tools/list", {}), ("resources/list", {}), ("prompts/list", {})):
        said = ask_mcp(daemon, "/mcp/toolkits/notes", token, method, **params)
        assert words_in(json.dumps(said)) == [] and "forge" not in json.dumps(said), said


def test_181_what_was_done_outside_the_toolkit_is_not_seen_inside(daemon: Daemon, upstream: Upstream) -> None:
    """Defence: `may_see` and `Execution.may_read` compare the toolkit, also for one and the same actor."""
    large = "return {vault: 'combination '.repeat(60000)}"
    outside = daemon.execute(large, result="preview")
    artifact = outside["artifact"]["id"]
    for code in (f"tools.executor.artifacts.read({{id: '{artifact}'}})", "tools.executor.artifacts.list({})"):
        caught = f"try {{ return await {code} }} catch (e) {{ return e.message }}"
        _, text = execute(daemon, "desk", daemon.tokens.agent, caught)
        assert "combination" not in text and outside["executionId"] not in text
    for arguments in ({}, {"executionId": outside["executionId"]}):
        said = ask_mcp(daemon, DESK, daemon.tokens.agent, "tools/call", name="resume", arguments=arguments)
        assert "combination" not in json.dumps(said["content"])
        assert outside["executionId"] not in json.dumps(said.get("_meta"))
    read = ask_mcp(daemon, DESK, daemon.tokens.agent, "resources/read", uri=f"executor://artifacts/{artifact}")
    assert "combination" not in json.dumps(read)


def test_181_a_search_does_not_show_which_sources_are_outside(daemon: Daemon, upstream: Upstream) -> None:
    """Defence: `read_words`: a query is understood by the names and words of visible tools alone."""
    add_toolkit(daemon, "alone", patterns=["office.notes.*"])
    token = create_key(daemon, "alone", "alone-bot")
    for connected, unknown in (("forge", "barge"), ("repositry", "depositrx"), ("openvault", "opengault")):
        codes = [f"return await tools.discover({{query: '{word} list notes'}})" for word in (connected, unknown)]
        found = [execute(daemon, "alone", token, code)[1] for code in codes]
        assert found[0].replace(connected, "X") == found[1].replace(unknown, "X") and "office.notes" in found[0]


# -- 182: call ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "work"),
    [
        ("typescript", "await tools.office.vault.listVault({})"),
        ("typescript", "await tools['office']['vault']['listVault']({})"),
        ("typescript", "await tools['office.vault.listVault']({})"),
        ("typescript", "const {vault} = tools.office; await vault.listVault()"),
        ("typescript", "await tools.office.notes['..vault.listVault']({})"),
        ("typescript", "await tools.office.notes.readMoved({})"),
        ("typescript", "await tools.office.vault.openVault({combination: '1'})"),
        ("python", "await tools.office.vault.listVault()"),
        ("python", "await tools('office.vault.listVault', {})"),
        ("python", "await getattr(tools.office, 'vault').listVault()"),
        ("typescript", "await tools.executor.sources.add({url: 'http://127.0.0.1:1/', namespace: 'x'})"),
        ("typescript", "await tools.executor.sources.list({})"),
    ],
)
def test_182_a_tool_outside_is_never_reached(
    daemon: Daemon, upstream: Upstream, key: str, language: str, work: str
) -> None:
    """Defence: `find_in_reach` at admission and right before sending; `check_following` for redirects."""
    code = f"return {work}" if language == "typescript" and not work.startswith("const") else work
    for token in (key, daemon.tokens.agent, daemon.tokens.operator):
        status, text = execute(daemon, "desk", token, code, language)
        assert status == "failed" and "gold" not in text and "opened" not in text, text
    assert visits_to_vault(upstream) == []


@pytest.mark.parametrize(
    "document",
    [
        "{ repository(owner: \"a\", name: \"b\") { id } }",
        "{ viewer { login } x: repository(owner: \"a\", name: \"b\") { id } }",
        "query A { viewer { login } } query B { repository(owner: \"a\", name: \"b\") { id } }",
        "{ ...All } fragment All on Query { repository(owner: \"a\", name: \"b\") { id } }",
        "{ ... on Query { search(query: \"x\") { pageInfo { hasNextPage } } } }",
        "{ viewer { login } ... @include(if: false) { repository(owner: \"a\", name: \"b\") { id } } }",
        "{ __schema { types { name } } }",
        "{ __type(name: \"Mutation\") { fields { name } } }",
    ],
)  # fmt: skip
def test_182_a_document_calls_no_field_outside(daemon: Daemon, upstream: Upstream, key: str, document: str) -> None:
    """Defence: `ToolkitChecks.check` judges each root field that a document selects, wherever it does."""
    sent = len(upstream.requests)
    arguments = {"query": document, **({"operationName": "A"} if "query A" in document else {})}
    status, text = execute(daemon, "desk", key, f"return await tools.forge.graphql.query({json.dumps(arguments)})")
    assert status == "failed" and len(upstream.requests) == sent, text
    mutation = json.dumps({"query": 'mutation { createUser(login: "x") { login } }'})
    status, text = execute(daemon, "desk", key, f"return await tools.forge.graphql.mutate({mutation})")
    assert status == "failed" and "not a tool" in text and len(upstream.requests) == sent, text


def test_182_what_is_inside_works(daemon: Daemon, upstream: Upstream, key: str) -> None:
    viewer = json.dumps({"query": "{ viewer { login } }"})
    code = f"return [await tools.office.notes.listNotes({{}}), await tools.forge.graphql.query({viewer})]"
    status, text = execute(daemon, "desk", key, code)
    assert status == "completed" and "milk" in text and "login" in text, text


# -- 183: a key elsewhere -----------------------------------------------------------------------------------------


def test_183_a_key_of_a_toolkit_is_narrowed_wherever_it_is_used(daemon: Daemon, upstream: Upstream, key: str) -> None:
    """Defence: the toolkit is the credential's (`Actor.toolkit_id`), not the address's."""
    code = "return await tools.office.vault.listVault({})"
    for path in ("/mcp", "/mcp/", "/mcp/anonymous"):
        said = ask_mcp(daemon, path, key, "tools/call", name="execute", arguments={"code": code})
        assert said["isError"] and words_in(json.dumps(said["content"]).replace("office.vault.listVault", "")) == []
    for body in ({"code": code}, {"code": code, "typecheck": "off"}, {"code": code.replace("{}", ""), "wait": 5}):
        assert daemon.post("/v1/executions", body, role=key).json["status"] == "failed"
    for path in ("/mcp/toolkits/other", "/mcp/toolkits/nothing", "/mcp/toolkits/..", "/mcp/toolkits/desk%2f..%2fother"):
        answer = daemon.post(path, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, role=key)
        assert answer.status == 404, (path, answer.body)
    assert visits_to_vault(upstream) == []


def test_183_a_key_of_a_toolkit_opens_no_other_route(daemon: Daemon, key: str) -> None:
    """Defence: `within_toolkit` names the routes that narrow; every other one is closed."""
    opened = set()
    for route in daemon.app.routes:
        if not isinstance(route, Route) or not route.path.startswith("/v1/"):
            continue
        if getattr(route.endpoint, "needs", None) is None:
            continue
        for method in (route.methods or set()) - {"HEAD"}:
            body = None if method in ("GET", "DELETE") else {}
            answer = daemon.request(method, route.path.replace("{", "").replace("}", ""), body, role=key)
            if answer.status != 403:
                opened.add(f"{method} {route.path}")
    assert opened == {
        "POST /v1/executions", "GET /v1/executions", "GET /v1/executions/{execution_id}",
        "POST /v1/executions/{execution_id}/resume", "POST /v1/executions/{execution_id}/cancel",
        "GET /v1/executions/{execution_id}/calls", "GET /v1/executions/{execution_id}/logs",
        "GET /v1/executions/{execution_id}/events", "GET /v1/artifacts", "GET /v1/artifacts/{artifact_id}",
        "GET /v1/artifacts/{artifact_id}/content", "GET /v1/tools", "GET /v1/tools/search", "GET /v1/tools/{path}",
        "POST /v1/catalog/check", "POST /v1/catalog/complete", "GET /v1/catalog/definitions", "GET /v1/auth/whoami",
    }  # fmt: skip


def test_183_another_workspace_knows_neither_the_toolkit_nor_its_key(daemon: Daemon, key: str) -> None:
    made = daemon.post("/v1/workspaces", {"name": "elsewhere"}).json
    there = {"X-Executor-Workspace": made["id"]}
    assert daemon.get("/v1/toolkits/desk", headers=there).status == 404
    assert daemon.post(DESK, {"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=there).status == 404
    assert daemon.get("/v1/tools", role=key, headers=there).status == 404


# -- 184: later ---------------------------------------------------------------------------------------------------


def park(daemon: Daemon, slug: str, token: str, code: str = "") -> tuple[str, str]:
    """An execution that waits for approval of a note, and the interaction."""
    code = code or "return await tools.office.notes.createNote({text: 'x'})"
    said = ask_mcp(daemon, f"/mcp/toolkits/{slug}", token, "tools/call", name="execute", arguments={"code": code})
    about = said["_meta"]["executor/execution"]
    assert about["status"] == "paused", said
    return about["executionId"], about["interactions"][0]["id"]


def outcome(daemon: Daemon, execution_id: str) -> Any:
    return daemon.get(f"/v1/executions/{execution_id}?wait=60").json


def count_posts(upstream: Upstream) -> int:
    return sum(got.method == "POST" and got.target == "/notes" for got in upstream.requests)


NARROWINGS: dict[str, tuple[str, dict[str, Any] | None]] = {
    "removed": ("DELETE", None),
    "without the pattern": ("PATCH", {"patterns": ["office.notes.listNotes"]}),
    "with a policy that denies": ("PATCH", {"policies": [{"pattern": "office.notes.createNote", "action": "deny"}]}),
    "with a policy about the effect": (
        "PATCH",
        {"policies": [{"pattern": "**", "action": "deny", "effect": "write"}]},
    ),
}


@pytest.mark.parametrize("how", NARROWINGS)
@pytest.mark.parametrize("role", ["key", "agent"])
def test_184_what_is_narrowed_is_denied_to_executions_that_wait(
    daemon: Daemon, upstream: Upstream, how: str, role: str
) -> None:
    """Defence: pending approvals are denied with the change, and `recheck` looks at the toolkit as it is."""
    slug = f"{role}-{list(NARROWINGS).index(how)}"
    add_toolkit(daemon, slug)
    token = create_key(daemon, slug, f"{slug}-bot") if role == "key" else daemon.tokens.agent
    execution_id, interaction_id = park(daemon, slug, token)
    before = count_posts(upstream)
    method, body = NARROWINGS[how]
    assert daemon.request(method, f"/v1/toolkits/{slug}", body).status in (200, 204)
    assert outcome(daemon, execution_id)["status"] == "failed"
    assert daemon.post(f"/v1/interactions/{interaction_id}/approve", {}).status == 409
    assert count_posts(upstream) == before


def test_184_an_approval_does_not_outlive_the_toolkit(daemon: Daemon, upstream: Upstream) -> None:
    """Approved for the rest of the execution, then narrowed while the code runs."""
    add_toolkit(daemon, "late")
    code = """
await tools.office.notes.createNote({text: 'first'});
for (let turn = 0; turn < 400; turn++) {
  await new Promise(done => setTimeout(done, 50));
  try { await tools.office.notes.createNote({text: 'again'}) } catch (e) { return e.code }
}"""
    execution_id, interaction_id = park(daemon, "late", daemon.tokens.agent, code)
    assert daemon.post(f"/v1/interactions/{interaction_id}/approve", {"scope": "execution"}).status == 200
    before = count_posts(upstream)
    wait_for(lambda: count_posts(upstream) > before + 1)
    assert daemon.request("PATCH", "/v1/toolkits/late", {"patterns": ["office.notes.listNotes"]}).status == 200
    assert outcome(daemon, execution_id)["result"] == "unknown_tool"


def test_184_a_removed_toolkit_ends_its_keys_and_its_executions(daemon: Daemon, upstream: Upstream) -> None:
    add_toolkit(daemon, "gone")
    token = create_key(daemon, "gone", "gone-bot")
    code = "await new Promise(done => setTimeout(done, 300)); return await tools.office.notes.listNotes({})"
    for role in (token, daemon.tokens.agent):
        execution_id, _ = park(daemon, "gone", role, f"try {{ {PARKS} }} catch (e) {{}} {code}")
        if role != token:
            assert daemon.request("DELETE", "/v1/toolkits/gone").status == 204
            assert outcome(daemon, execution_id)["error"]["code"] == "access_revoked"
    assert daemon.get("/v1/tools", role=token).status == 401
    add_toolkit(daemon, "gone")  # another one of that name
    assert daemon.get("/v1/tools", role=token).status == 401


PARKS = "await tools.office.notes.createNote({text: 'x'})"


# -- 185: loosen --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["allow", "ALLOW", "", None, "permit"])
def test_185_a_policy_of_a_toolkit_allows_nothing(daemon: Daemon, upstream: Upstream, action: Any) -> None:
    body = {"slug": "loose", "patterns": ["**"], "policies": [{"pattern": "**", "action": action}]}
    assert daemon.post("/v1/toolkits", body).status in (400, 422)
    assert daemon.get("/v1/toolkits/loose").status == 404


@pytest.mark.parametrize("level", ["workspace", "organization", "source"])
def test_185_a_toolkit_that_asks_does_not_undo_a_denial(daemon: Daemon, upstream: Upstream, level: str) -> None:
    """Defence: `decide` takes the strictest of what was decided without the toolkit and of its policies."""
    slug = f"ask-{level}"
    asks = [{"pattern": "office.**", "action": "require_approval"}]
    add_toolkit(daemon, slug, policies=asks)
    if level == "source":
        assert daemon.request("PATCH", "/v1/sources/office", {"defaults": {"write": "deny"}}).status == 200
    else:
        made = daemon.post("/v1/policies", {"pattern": "office.notes.createNote", "action": "deny", "level": level})
    try:
        status, text = execute(daemon, slug, daemon.tokens.agent, f"return {PARKS}")
        assert status == "failed", text
    finally:
        if level == "source":
            daemon.request("PATCH", "/v1/sources/office", {"defaults": {"write": None}})
        else:
            daemon.request("DELETE", f"/v1/policies/{made.json['id']}")
    assert execute(daemon, slug, daemon.tokens.agent, "return await tools.office.notes.listNotes({})")[0] == "paused"


def test_185_a_toolkit_tightens_what_a_policy_allows(daemon: Daemon, upstream: Upstream) -> None:
    allowed = daemon.post("/v1/policies", {"pattern": "office.notes.createNote", "action": "allow"}).json
    asks = [{"pattern": "office.notes.createNote", "action": "require_approval",
             "conditions": [{"path": "/text", "test": "equals", "value": "x"}]}]  # fmt: skip
    add_toolkit(daemon, "tight", policies=asks)
    park(daemon, "tight", daemon.tokens.agent)
    other = "return (await tools.office.notes.createNote({text: 'y'})).made.text"
    assert execute(daemon, "tight", daemon.tokens.agent, other) == ("completed", '"y"')
    daemon.request("DELETE", f"/v1/policies/{allowed['id']}")


# -- 186: pass-through --------------------------------------------------------------------------------------------


def test_186_a_tool_that_is_passed_through_takes_the_same_road(daemon: Daemon, upstream: Upstream) -> None:
    """Defence: a call of it is an execution: admission, approval and journal know no other way."""
    add_toolkit(daemon, "plain", patterns=["office.**"], passThrough=["office.**"],
                policies=[{"pattern": "office.vault.openVault", "action": "deny"}])  # fmt: skip
    token, path = create_key(daemon, "plain", "plain-bot"), "/mcp/toolkits/plain"
    listed = [one["name"] for one in ask_mcp(daemon, path, token, "tools/list")["tools"]]
    assert "office_notes_createNote" in listed and "office_vault_openVault" not in listed
    for name in ("office_vault_openVault", "office.vault.openVault", "forge_query_viewer"):
        said = ask_mcp(daemon, path, token, "tools/call", name=name, arguments={"combination": "1"})
        assert said["code"] == -32602, said
    before = count_posts(upstream)
    for arguments in ({"text": "x"}, {"text": "*/}); await tools.office.vault.openVault({combination: '1'}); ({"}):
        said = ask_mcp(daemon, path, token, "tools/call", name="office_notes_createNote", arguments=arguments)
        assert said["_meta"]["executor/execution"]["status"] == "paused" and count_posts(upstream) == before
        interaction = said["_meta"]["executor/execution"]["interactions"][0]
        assert interaction["tool"] == "office.notes.createNote"
    for arguments in ({}, {"text": 1}, {"text": "x", "more": 1}, {"__proto__": {"text": "x"}}):
        said = ask_mcp(daemon, path, token, "tools/call", name="office_notes_createNote", arguments=arguments)
        assert said["isError"] and "invalid_arguments" in said["content"][0]["text"], said


def test_186_only_what_is_passed_through_can_be_called_by_name(daemon: Daemon, upstream: Upstream, key: str) -> None:
    for path, token in ((DESK, key), ("/mcp", daemon.tokens.agent), ("/mcp", key)):
        said = ask_mcp(daemon, path, token, "tools/call", name="office_notes_listNotes", arguments={})
        assert said["code"] == -32602, said
