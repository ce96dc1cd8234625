"""Every route as everybody: what the table of roles says is what happens, and nobody reaches into another workspace."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.surfaces.api import identities, roles_table
from tests.surfaces.api.daemon_server import DOCUMENT, Answer, Daemon, running_daemon
from tests.surfaces.api.identities import Caller, expect_created, operator
from tests.surfaces.api.permissions_table import EVERYBODY
from tests.surfaces.api.roles_table import RANKS, SCOPES, VISITOR, Row

UNKNOWN = "exec_aaaaaaaaaaaaaaaaaaaaaaaaaa"
Admits = Callable[[Row], bool]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("roles")) as daemon:
        yield daemon


def address(path: str) -> str:
    return re.sub(r"{\w+}", UNKNOWN, path)


def walk(caller: Caller) -> dict[tuple[str, str], Answer]:
    """An answer of every route. Signing out comes last, since nothing works after it."""
    rows = sorted(roles_table.documented_rows(), key=lambda row: row.path.endswith("sign-out"))
    caller.daemon.executor.authenticator.attempts.clear()
    return {
        (row.method, row.path): caller.request(row.method, address(row.path), None if row.method == "GET" else {})
        for row in rows
    }


def compare(caller: Caller, admits: Admits) -> None:
    answers = walk(caller)
    for row in roles_table.documented_rows():
        answer = answers[row.method, row.path]
        assert is_refused(answer) != admits(row), (caller.name, row, answer.status, answer.body)
        assert answer.status != 401 and answer.status < 500, (caller.name, row, answer.body)


def is_refused(answer: Answer) -> bool:
    """By the guard of the route. A handler that lets one in may still refuse what exactly is wanted."""
    refusals = (b"permission denied: ", b"this address is only for tokens of agents")
    by_handler = b'"needs":' in answer.body
    return answer.status == 403 and not by_handler and any(text in answer.body for text in refusals)


def test_the_table_names_every_route_with_what_it_needs() -> None:
    assert roles_table.documented_rows() == roles_table.expected_rows(), (
        "run `python -m tests.surfaces.api.roles_table`"
    )


@pytest.mark.parametrize("role", RANKS)
def test_a_human_may_use_what_the_table_says_of_their_role(daemon: Daemon, role: str) -> None:
    def admits(row: Row) -> bool:
        return row.admits(role) and row.path != "/mcp/anonymous"

    compare(identities.invite(daemon, role), admits)


def test_the_operators_token_may_use_everything_but_the_door_of_agents(daemon: Daemon) -> None:
    compare(operator(daemon), lambda row: row.path != "/mcp/anonymous" and row.least != VISITOR)


def test_the_operators_browser_may_use_what_its_token_may(daemon: Daemon) -> None:
    compare(identities.signed_in(daemon), lambda row: row.path != "/mcp/anonymous" and row.least != VISITOR)


def test_a_browser_without_an_account_may_use_what_its_permissions_say(daemon: Daemon) -> None:
    [visitor] = [who for who in EVERYBODY if who.is_visitor]
    needed = roles_table.endpoints()

    def admits(row: Row) -> bool:
        return visitor.meets(needed[row.method, row.path]) and row.path != "/mcp/anonymous"

    compare(identities.visitor(daemon), admits)


def test_an_admin_of_another_organization_may_use_there_what_the_table_says(daemon: Daemon) -> None:
    place = expect_created(operator(daemon).post("/v1/organizations", {"name": "Third"}))
    admin = identities.invite(daemon, "admin", operator(daemon, place["id"]))
    compare(admin, lambda row: row.admits("admin") and row.path != "/mcp/anonymous")


def test_agents_may_use_what_the_table_says(daemon: Daemon) -> None:
    for caller in (
        Caller(daemon, "agent.token", daemon.tokens.agent),
        identities.agent(daemon, "walker"),
        identities.anonymous(daemon),
    ):
        compare(caller, lambda row: row.agents)


@pytest.mark.parametrize("scope", SCOPES)
def test_a_key_may_use_what_the_table_says_of_its_scope(daemon: Daemon, scope: str) -> None:
    compare(identities.create_key(daemon, scope), lambda row: scope in row.scopes)


def test_a_key_with_every_scope_may_use_no_more_than_each_alone(daemon: Daemon) -> None:
    compare(identities.create_key(daemon, *SCOPES), lambda row: bool(row.scopes))


def test_no_one_may_use_what_is_open_to_anyone_and_nothing_else(daemon: Daemon) -> None:
    answers = walk(identities.nobody(daemon))
    for row in roles_table.documented_rows():
        answer = answers[row.method, row.path]
        if not row.is_public:
            assert (answer.status, answer.json["code"]) == (401, "unauthorized"), row
            assert answer.headers["www-authenticate"].startswith("Bearer")
        elif row.path == "/v1/auth/anonymous/browser":  # for pages alone, not for a role
            assert answer.json["code"] == "origin_refused"
        else:
            assert answer.status not in (401, 403), row


def test_only_what_shows_nothing_or_lets_someone_in_is_open_to_anyone() -> None:
    """A new route that needs nobody must be put here by hand."""
    assert {(row.method, row.path) for row in roles_table.documented_rows() if row.is_public} == {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("POST", "/v1/auth/sign-in"),
        ("POST", "/v1/auth/anonymous/bootstrap"),
        ("POST", "/v1/auth/anonymous/token"),
        ("POST", "/v1/auth/anonymous/browser"),
        ("GET", "/v1/auth/anonymous/offered"),
        ("POST", "/v1/invitations/accept"),
        ("GET", "/oauth/begin/{ticket}"),
        ("GET", "/oauth/begin/{ticket}/go"),
        ("GET", "/oauth/callback"),
        ("GET", "/oauth/client.json"),
        ("GET", "/.well-known/oauth-authorization-server"),
        ("GET", "/.well-known/oauth-protected-resource"),
        ("GET", "/.well-known/oauth-protected-resource/mcp"),
        ("GET", "/v1/auth/oidc/offered"),
        ("GET", "/v1/auth/oidc/start"),
        ("GET", "/v1/auth/oidc/callback"),
    }


def test_no_route_that_changes_something_is_open_to_agents_but_these() -> None:
    writes = {
        (row.method, row.path) for row in roles_table.documented_rows() if row.method != "GET" and not row.is_public
    }
    open_to_agents = {(row.method, row.path) for row in roles_table.documented_rows() if row.agents}
    assert writes & open_to_agents == {
        ("POST", "/mcp"),
        ("POST", "/mcp/anonymous"),
        ("POST", "/v1/executions"),
        ("POST", "/v1/executions/{execution_id}/resume"),
        ("POST", "/v1/executions/{execution_id}/cancel"),
        ("POST", "/v1/auth/sign-out"),
        ("POST", "/v1/catalog/check"),  # these two only ask
        ("POST", "/v1/catalog/complete"),
    }


# --- another workspace's ids ---

POLICY = {"pattern": "a.**", "action": "allow"}
# What gets a request past the check of its body, so that the id is looked at.
BODIES: dict[tuple[str, str], Any] = {
    ("PATCH", "/v1/workspaces/{workspace_id}"): {"name": "mine"},
    ("PATCH", "/v1/organizations/{organization_id}"): {"name": "mine"},
    ("PATCH", "/v1/members/{account_id}"): {"role": "viewer"},
    ("PATCH", "/v1/policies/{policy_id}"): POLICY,
    ("PATCH", "/v1/sources/{source}"): {"name": "mine"},
    ("PUT", "/v1/sources/{source}/hints"): {"decision": "trust"},
    ("POST", "/v1/sources/{source}/review/accept"): {"tools": [{"path": "a.b", "digest": "0"}]},
    ("POST", "/v1/policies/{policy_id}/move"): {"position": 0},
    ("PATCH", "/v1/toolkits/{toolkit}"): {"name": "mine"},
    ("POST", "/v1/toolkits/{toolkit}/keys"): {"name": "mine"},
    ("POST", "/v1/secrets/{name}/rotate"): {"value": "another"},
    ("POST", "/v1/secrets/{name}/origins"): {"origin": "https://api.example.com"},
    ("POST", "/v1/interactions/{interaction_id}/answer"): {"action": "decline"},
    ("POST", "/v1/interactions/{interaction_id}/credential"): {"values": {"token": "x"}},
    ("POST", "/v1/sessions/{session_id}/prompt"): {"prompt": "x"},
    ("POST", "/sessions/{session_id}/prompt"): {"prompt": "x"},
    ("PATCH", "/v1/sessions/{session_id}/tasks/{task_id}"): {"prompt": "x"},
    ("POST", "/v1/sessions/{session_id}/commit"): {"message": "x"},
}


@pytest.fixture(scope="module")
def ours(daemon: Daemon, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An id of every noun in our workspace."""
    folder = tmp_path_factory.mktemp("work")
    mine = operator(daemon)
    mine.post("/v1/auth/links")
    source = expect_created(
        mine.post(
            "/v1/sources", {"document": _document(), "location": "http://127.0.0.1:9/openapi.json", "namespace": "shop"}
        )
    )
    paused = expect_created(
        mine.post("/v1/executions", {"code": 'return await tools.shop.things.createThing({name: "x"})'})
    )
    call = mine.get(f"/v1/executions/{paused['executionId']}/calls").json["items"][0]
    member = identities.invite(daemon, "member")
    session = member.get("/v1/auth/sessions").json["items"][0]
    connection_id = daemon.run(_connection(daemon, source["id"]))
    who = mine.get("/v1/auth/whoami").json
    expect_created(mine.post("/v1/secrets", {"name": "ours", "value": "s3cret"}))
    expect_created(mine.post("/v1/model-keys", {"provider": "gemini", "value": "s3cret"}))
    return {
        "execution_id": paused["executionId"],
        "artifact_id": expect_created(mine.post("/v1/executions", {"code": "return 'x'.repeat(40000)"}))["artifact"][
            "id"
        ],
        "interaction_id": paused["interactions"][0]["id"],
        "source": source["id"],
        "digest": call["schemaDigest"],
        "path": "shop.things.createThing",
        "policy_id": expect_created(mine.post("/v1/policies", POLICY))["id"],
        "toolkit": expect_created(mine.post("/v1/toolkits", {"slug": "ours", "patterns": ["**"]}))["id"],
        "name": "ours",
        "provider": "gemini",
        "connection_id": connection_id,
        "session_id": session["id"],
        "agent_session_id": expect_created(
            mine.post("/v1/sessions", {"agent": "fake", "cwd": str(folder), "isolation": "simple"})
        )["id"],
        "key_id": expect_created(mine.post("/v1/keys", {"name": "k"}))["id"],
        "agent_id": expect_created(mine.post("/v1/agents", {"name": "ours"}))["id"],
        "actor": who["actorId"],
        "workspace_id": who["workspace"]["id"],
        "organization_id": who["organization"]["id"],
        "account_id": member.account,
        "webhook_id": expect_created(mine.post("/v1/webhooks", {"name": "ours", "url": "http://127.0.0.1:9/"}))["id"],
        "invitation_id": expect_created(mine.post("/v1/invitations"))["id"],
    }


def _document() -> str:
    import json

    return json.dumps({**DOCUMENT, "servers": [{"url": "http://127.0.0.1:9"}]})


async def _connection(daemon: Daemon, source_id: str) -> str:
    import sqlalchemy as sa
    from sqlalchemy.engine import Connection

    from executor.model.ids import new_id, now_ms
    from executor.storage.tables.access import connections

    at, workspace = now_ms(), daemon.executor.tenancy.workspace.id
    row = {"id": new_id("con"), "workspace_id": workspace, "source_id": source_id, "name": "main", "scheme": "bearer"}
    times = {"created_by": "", "created_at": at, "updated_at": at}

    def job(c: Connection) -> str:
        c.execute(sa.insert(connections), {**row, "origin": "http://127.0.0.1:9", "status": "ready", **times})
        return row["id"]

    return await daemon.executor.database.write(job)


def with_ids() -> list[tuple[str, str]]:
    """The operator's alone answer everybody else the same, whatever the id."""
    rows = [row for row in roles_table.documented_rows() if "{" in row.path and row.least != roles_table.OPERATOR]
    return [(row.method, row.path) for row in rows if not row.is_public]


def test_another_workspaces_id_answers_exactly_as_an_unknown_one_on_every_route(
    daemon: Daemon, ours: dict[str, str]
) -> None:
    other = identities.stranger(daemon)
    for method, path in with_ids():
        name = re.findall(r"{(\w+)}", path)[0]
        mine = ours["agent_session_id"] if "/sessions/{session_id}" in path and "auth" not in path else ours[name]
        body = None if method == "GET" else BODIES.get((method, path), {})
        there = other.request(method, path.replace(f"{{{name}}}", mine), body)
        nowhere = other.request(method, path.replace(f"{{{name}}}", UNKNOWN), body)
        assert (there.status, nowhere.status) == (404, 404), (method, path, there.body, nowhere.body)
        assert there.body.replace(mine.encode(), b"") == nowhere.body.replace(UNKNOWN.encode(), b""), path


def test_what_is_ours_is_there_for_us(daemon: Daemon, ours: dict[str, str]) -> None:
    """Else the test above would pass because nothing was made."""
    for path, name in (
        ("/v1/executions/{}", "execution_id"),
        ("/v1/artifacts/{}", "artifact_id"),
        ("/v1/interactions/{}", "interaction_id"),
        ("/v1/sources/{}", "source"),
        ("/v1/tool-versions/{}", "digest"),
        ("/v1/tools/{}", "path"),
        ("/v1/connections/{}", "connection_id"),
        ("/v1/policies/{}", "policy_id"),
        ("/v1/toolkits/{}", "toolkit"),
        ("/v1/sessions/{}", "agent_session_id"),
    ):
        assert operator(daemon).get(path.format(ours[name])).status == 200, path


def test_no_list_of_another_workspace_shows_anything_of_ours(daemon: Daemon, ours: dict[str, str]) -> None:
    other = identities.stranger(daemon)
    shown = {name: value for name, value in ours.items() if name not in ("name", "path", "provider")}
    for row in roles_table.documented_rows():
        if row.method == "GET" and "{" not in row.path and row.path != "/v1/openapi.json":
            body = other.get(row.path).body.decode()
            assert not [name for name, value in shown.items() if value in body], row


def test_a_workspace_that_is_not_ones_own_can_not_be_acted_in(daemon: Daemon, ours: dict[str, str]) -> None:
    other = identities.stranger(daemon)
    there = other.get("/v1/status", **{"X-Executor-Workspace": ours["workspace_id"]})
    nowhere = other.get("/v1/status", **{"X-Executor-Workspace": UNKNOWN})
    assert (there.status, nowhere.status) == (404, 404)
    assert there.body.replace(ours["workspace_id"].encode(), b"") == nowhere.body.replace(UNKNOWN.encode(), b"")


def test_every_body_of_the_walk_is_of_a_route_that_is_there() -> None:
    assert BODIES.keys() <= set(with_ids())
