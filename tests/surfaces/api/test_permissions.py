"""The page of permissions is what the code says, and what the code says is what happens: every act, as everybody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.errors import InvalidRequest
from executor.model.identity.permissions import NEEDED, Act
from executor.settings import Settings
from executor.surfaces.mcp.tool_definitions import TOOLS
from tests.surfaces.api import identities, permissions_table, roles_table
from tests.surfaces.api.daemon_server import Answer, Daemon, running_daemon, running_upstream
from tests.surfaces.api.identities import Caller, expect_created, operator
from tests.surfaces.api.permissions_table import EVERYBODY, PUBLIC_ADDRESS, Row, Who
from tests.surfaces.mcp.conftest import connect_client

CLI_CLIENT = str(Path(__file__).parents[2] / "support" / "cli_client.py")
SERVER = str(Path(__file__).parents[2] / "sources" / "mcp" / "servers" / "real.py")
WHO = {who.name: who for who in EVERYBODY}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("permissions"), anonymous_sources=2) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def everybody(daemon: Daemon) -> dict[str, list[Caller]]:
    """Each with every credential that they can have."""
    place = expect_created(operator(daemon).post("/v1/organizations", {"name": "Elsewhere"}))
    operator(daemon).patch("/v1/separation", {"separation": "off"})
    return {
        "operator": [operator(daemon), identities.signed_in(daemon)],
        **{role: [identities.invite(daemon, role)] for role in ("owner", "admin", "member", "viewer")},
        "key": [identities.create_key(daemon, "discover", "execute", "read")],
        "agent": [Caller(daemon, "agent.token", daemon.tokens.agent), identities.agent(daemon, "walker")],
        "anonymous": [identities.anonymous(daemon)],
        "visitor": [identities.visitor(daemon)],
        "elsewhere": [identities.invite(daemon, "admin", operator(daemon, place["id"]))],
        "nobody": [identities.nobody(daemon)],
    }


@pytest.fixture(scope="module")
def sources(daemon: Daemon, everybody: dict[str, list[Caller]]) -> Iterator[str]:
    """`shop` and `local`, a command, in our workspace and in the other one; a secret in both."""
    with running_upstream() as (url, _):
        there = everybody["elsewhere"][0].get("/v1/auth/whoami").json["workspace"]["id"]
        for mine in (operator(daemon), operator(daemon, there)):
            expect_created(mine.post("/v1/sources", {"location": f"{url}/openapi.json", "namespace": "shop"}))
            command = [sys.executable, SERVER, "stdio"]
            expect_created(mine.post("/v1/sources", {"command": command, "consent": True, "namespace": "local"}))
            expect_created(mine.post("/v1/secrets", {"name": "stored", "value": "s3cret"}))
        yield url


def bearer(name: str, **given: Any) -> dict[str, Any]:
    placement = {"in": "header", "name": "Authorization", "template": "Bearer {token}"}
    return {"source": "shop", "name": name, "placements": [placement], "replace": True, **given}


def own_place(caller: Caller) -> Caller:
    """The operator in the workspace that the caller acts in; in ours for those who have none that humans can enter."""
    here = caller.get("/v1/auth/whoami").json.get("workspace", {}).get("id", "")
    return operator(caller.daemon, "" if caller.name in ("anonymous", "visitor", "nobody") else here)


def waiting(caller: Caller) -> str:
    """An interaction of another person's call that waits for a credential."""
    mine = own_place(caller)
    scheme = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    operation = {"operationId": "listThings", "tags": ["things"], "security": [{"key": []}], "responses": {}}
    document = {
        "openapi": "3.1.0", "info": {"title": "Keyed", "version": "1"}, "servers": [{"url": "http://127.0.0.1:9"}],
        "paths": {"/things": {"get": operation}}, "components": {"securitySchemes": scheme},
    }  # fmt: skip
    mine.post("/v1/sources", {"document": json.dumps(document), "namespace": "keyed"})
    asking = identities.invite(caller.daemon, "member", mine)
    view = expect_created(asking.post("/v1/executions", {"code": "return await tools.keyed.things.listThings({})"}))
    return str(view["interactions"][0]["id"])


def give(caller: Caller) -> Answer:
    body = {"scope": "actor", "values": {"key": "given"}}
    return caller.post(f"/v1/interactions/{waiting(caller)}/credential", body)


def link(caller: Caller) -> Answer:
    account = caller.daemon.executor.tenancy.account.id
    return caller.post("/v1/auth/links", {"accountId": account})


# How each act is done. What comes of it matters only in that it is not refused.
DOING: dict[Act, Callable[[Caller], Answer]] = {
    "running a command": lambda who: who.post("/v1/sources", {"command": ["no-such-program"], "consent": True}),
    "importing a module into the daemon": lambda who: who.post(
        "/v1/sources", {"location": "python:no_such_module_anywhere", "consent": True}
    ),
    "running a source's code again": lambda who: who.post("/v1/sources/local/refresh"),
    "reading a file of this machine": lambda who: who.post(
        "/v1/sources", {"document": "{}", "specUrl": "/no/such/file.json"}
    ),
    "pointing at a value outside the store": lambda who: who.post(
        "/v1/secrets", {"name": "outside", "provider": "environment", "reference": "EXECUTOR_SECRET_X"}
    ),
    "signing in as this installation's own account": link,
    "sending webhooks to a private address": lambda who: who.post(
        "/v1/webhooks", {"name": "local", "url": "http://127.0.0.1:9/"}
    ),
    "using a stored secret": lambda who: who.post(
        "/v1/connections", bearer("stored", scope="actor", secrets={"token": "stored"})
    ),
    "saying by hand where a credential goes": lambda who: who.post(
        "/v1/connections",
        {
            **bearer("hand", scope="actor", values={"k": "x"}),
            "placements": [{"in": "query", "name": "k", "template": "{k}"}],
        },
    ),
    "giving a credential for another person's calls": give,
    "sharing a connection with the workspace": lambda who: who.post(
        "/v1/connections", bearer("shared", values={"token": "x"})
    ),
    "sharing a model key with the workspace": lambda who: who.post(
        "/v1/model-keys", {"provider": "openai", "value": "sk-shared"}
    ),
}


def is_refused(answer: Answer) -> bool:
    return answer.status in (401, 403)


def test_the_page_is_what_the_code_says() -> None:
    assert permissions_table.read_page() == permissions_table.render(), (
        "run python -m tests.surfaces.api.permissions_table"
    )


def test_every_act_is_done_by_this_test() -> None:
    assert set(DOING) == set(NEEDED)


@pytest.mark.parametrize("name", WHO)
def test_everybody_does_every_act(daemon: Daemon, everybody: dict[str, list[Caller]], sources: str, name: str) -> None:
    rows = {row.act: row for row in permissions_table.acts()}
    for act, do in DOING.items():
        for caller in everybody[name]:
            daemon.executor.authenticator.attempts.clear()
            answer = do(caller)
            assert is_refused(answer) != rows[act].admits(WHO[name]), (act, caller.name, answer.status, answer.body)
            assert answer.status != 500, (act, caller.name, answer.body)


# -- code, through Executor's own tools -------------------------------------------------------------------------------

CALLS = {
    "discover": '{query: "x"}',
    "describe.tool": '{path: "discover"}',
    "executor.sources.list": "{}",
    "executor.sources.add": '{url: "http://127.0.0.1:9/openapi.json", namespace: "added"}',
    "executor.artifacts.read": '{id: "art_none"}',
    "executor.artifacts.search": '{id: "art_none", text: "x"}',
    "executor.artifacts.list": "{}",
}


@pytest.mark.parametrize("name", WHO)
def test_everybody_calls_executors_own_tools(
    daemon: Daemon, everybody: dict[str, list[Caller]], sources: str, name: str
) -> None:
    """Whoever may run code may ask; nothing that changes anything happens by asking."""
    for row in permissions_table.built_ins():
        if not row.act.startswith("call "):
            continue
        path = row.act.split("`")[1]
        code = f"try {{ return await tools.{path}({CALLS[path]}) }} catch (e) {{ return e.code }}"
        for caller in everybody[name]:
            answer = caller.post("/v1/executions", {"code": code, "typecheck": "off", "wait": 60})
            assert is_refused(answer) != row.admits(WHO[name]), (path, caller.name, answer.body)
            if answer.status == 201:
                expected = "paused" if path == "executor.sources.add" else "completed"
                assert answer.json["status"] == expected, (path, caller.name, answer.json)


@pytest.mark.parametrize("name", WHO)
def test_everybody_lets_a_source_be_added(
    daemon: Daemon, everybody: dict[str, list[Caller]], sources: str, name: str
) -> None:
    acts = {
        "happen": '{url: "http://127.0.0.1:9/openapi.json", namespace: "added"}',
        "run a command or a module": '{command: ["no-such-program"], namespace: "added"}',
        f"connect {PUBLIC_ADDRESS}": '{url: "https://127.0.0.1:9/openapi.json", namespace: "added"}',
    }
    if name == "visitor":  # there, anything but a plain address needs an administrator
        secret = '{type: "bearer", secret: "stored"}'
        acts["happen"] = f'{{url: "http://127.0.0.1:9/openapi.json", namespace: "added", auth: {secret}}}'
    rows = [row for row in permissions_table.built_ins() if row.act.startswith("let ")]
    assert {row.act.rpartition("` ")[2] for row in rows} == set(acts)
    there = everybody["elsewhere"][0].get("/v1/auth/whoami").json["workspace"]["id"]
    for row in rows:
        if row.act.endswith(PUBLIC_ADDRESS) and name != "visitor":
            continue
        code = f"return await tools.executor.sources.add({acts[row.act.rpartition('` ')[2]]})"
        for caller in everybody[name]:
            asking = operator(daemon, there if name == "elsewhere" else "")
            asking = identities.agent_of(caller) if name == "visitor" else asking
            [asked] = expect_created(asking.post("/v1/executions", {"code": code}))["interactions"]
            daemon.executor.authenticator.attempts.clear()
            answer = caller.post(f"/v1/interactions/{asked['id']}/approve")
            assert is_refused(answer) != row.admits(WHO[name]), (row.act, caller.name, answer.body)


# -- the other surfaces ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["agent", "operator"])
async def test_over_mcp_there_is_nothing_that_settles_or_administers(daemon: Daemon, role: str) -> None:
    listed = {row.act.strip("`") for row in permissions_table.rows() if row.surfaces == "MCP" and "/" not in row.act}
    assert listed == {tool["name"] for tool in TOOLS}
    async with connect_client(daemon, role=role) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == listed


COMMANDS = (
    ("operator", ("organizations", "create", "Another"), "own"),
    ("operator", ("secrets", "rotate-key"), "operate"),
    ("key", ("tools", "list"), "discover"),
    ("key", ("audit",), "read"),
    ("key", ("approvals", "deny", "int_none"), "decide"),
    ("key", ("organizations", "separation", "off"), "manage"),
    ("agent", ("call", "return 1"), "execute"),
    ("agent", ("secrets", "list"), "administer"),
    ("agent", ("sources", "add", "--yes", "--", "true"), "administer"),
)


@pytest.mark.parametrize(("name", "words", "needs"), COMMANDS)
def test_the_command_line_may_what_its_token_may(
    daemon: Daemon, everybody: dict[str, list[Caller]], name: str, words: tuple[str, ...], needs: str
) -> None:
    done = subprocess.run(
        [sys.executable, CLI_CLIENT, str(daemon.port), *words],
        capture_output=True,
        text=True,
        env={**os.environ, "EXECUTOR_TOKEN": everybody[name][0].token or ""},
        timeout=120,
        check=False,
    )
    denied = "permission denied" in done.stderr
    assert denied != Row("", "", (needs,)).admits(WHO[name]), (name, words, done.stderr)


@pytest.mark.parametrize("noun", ["sources", "policies", "secrets", "connections", "members", "command", "modules"])
def test_none_of_it_can_be_declared(tmp_path: Path, noun: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'[[{noun}]]\nlocation = "python:os"\n')
    with pytest.raises(InvalidRequest, match="unknown setting"):
        Settings.load({"EXECUTOR_DATA_DIR": str(tmp_path), "EXECUTOR_CONFIG": str(config)})


def test_the_routes_of_the_page_are_those_of_the_table_of_roles() -> None:
    """Which test_roles.py walks as everybody."""
    routes = {row.act.strip("`"): row for row in permissions_table.rows() if "/" in row.act}
    for one in roles_table.expected_rows():
        row = routes.pop(f"{one.method} {one.path}")
        assert row.needs is None or not one.is_public
        for role in roles_table.RANKS:
            who: Who = WHO[role]
            assert (one.admits(role) and not row.for_programs) == row.admits(who), (one, role)
        assert one.agents == row.admits(WHO["agent"]) and bool(one.scopes) == row.admits(WHO["key"]), one
    assert not routes
