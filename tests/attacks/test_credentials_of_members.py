"""Attacks 71 to 74: credentials as a way into programs, sessions and secrets that are not one's own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.connections.placement import check_variable
from executor.errors import InvalidRequest
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json, serving
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.api.identities import Caller, expect_created, operator

SECRET = "hunter2-of-production"
FOLDER = Path(__file__).parents[1]
STDIO = [sys.executable, str(FOLDER / "connections" / "servers" / "key_server.py"), "stdio"]
CLI_CLIENT = str(FOLDER / "support" / "cli_client.py")


def document(host: str) -> dict[str, Any]:
    secured = {"operationId": "keyed", "tags": ["all"], "security": [{"key": []}], "responses": {}}
    free = {"operationId": "free", "tags": ["all"], "responses": {}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": f"http://{host}"}],
        "paths": {"/free": {"get": free}, "/keyed": {"get": secured}},
        "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
    }


def reply(got: Got, handler: Handler) -> Reply:
    return as_json(document(got.headers["host"]) if got.target == "/openapi.json" else {"done": True})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("members")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def shops(home: Daemon) -> Iterator[tuple[Upstream, Upstream]]:
    """Two services, connected as `shop` and `other`; and a command, as `child`."""
    mine = operator(home)
    with serving() as shop, serving() as other:
        for upstream, namespace in ((shop, "shop"), (other, "other")):
            upstream.otherwise = reply
            expect_created(
                mine.post("/v1/sources", {"location": f"{upstream.url}/openapi.json", "namespace": namespace})
            )
        expect_created(mine.post("/v1/sources", {"command": STDIO, "consent": True, "namespace": "child"}))
        expect_created(mine.post("/v1/policies", {"pattern": "child.**", "action": "allow"}))
        expect_created(mine.post("/v1/secrets", {"name": "PROD_PASSWORD", "value": SECRET}))
        yield shop, other


@pytest.fixture(scope="module")
def member(home: Daemon) -> Caller:
    return identities.invite(home, "member")


def by_hand(source: str, where: str, name: str, **given: Any) -> dict[str, Any]:
    placement = {"in": where, "name": name, "template": "{value}"}
    return {"source": source, "scope": "actor", "placements": [placement], "values": {"value": "mine"}, **given}


# -- 71 a member says where a credential goes -------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["header", "query", "cookie", "environment"])
def test_71_a_member_fills_in_only_what_was_named(
    home: Daemon, shops: tuple[Upstream, Upstream], member: Caller, where: str
) -> None:
    """Defence: `check_permitted` in `connections/new_connection.py`, for both roads that make a connection."""
    source = "child" if where == "environment" else "shop"
    refused = member.post("/v1/connections", by_hand(source, where, "X_Own"))
    assert (refused.status, refused.json["needs"]) == (403, "administer"), refused.body
    view = expect_created(member.post("/v1/executions", {"code": "return await tools.shop.all.keyed({})"}))
    [asked] = view["interactions"]
    given = {name: value for name, value in by_hand("", where, "X_Own").items() if name != "source"}
    assert member.post(f"/v1/interactions/{asked['id']}/credential", given).status == 403
    assert operator(home).get(f"/v1/interactions/{asked['id']}").json["status"] == "pending"
    assert member.post(f"/v1/executions/{view['executionId']}/cancel").status == 200


def test_71_what_the_source_or_an_administrator_named_a_member_fills_in(
    home: Daemon, shops: tuple[Upstream, Upstream], member: Caller
) -> None:
    own = expect_created(
        member.post("/v1/connections", {"source": "shop", "scope": "actor", "values": {"key": "of-the-member"}})
    )
    assert own["places"] == ["header X-Key"]
    expect_created(
        operator(home).post("/v1/connections", {**by_hand("child", "environment", "API_KEY"), "scope": "workspace"})
    )
    assert member.post("/v1/connections", by_hand("child", "environment", "API_KEY")).status == 201
    assert member.post("/v1/connections", by_hand("child", "environment", "API_TOKEN") | {"name": "b"}).status == 403
    assert member.post("/v1/connections", by_hand("child", "header", "API_KEY") | {"name": "c"}).status == 403


def test_71_a_member_gives_no_credential_for_another_persons_calls(
    home: Daemon, shops: tuple[Upstream, Upstream], member: Caller
) -> None:
    other = identities.invite(home, "member")
    view = expect_created(other.post("/v1/executions", {"code": "return await tools.other.all.keyed({})"}))
    [asked] = view["interactions"]
    given = {"scope": "actor", "values": {"key": "of-somebody-else"}}
    refused = member.post(f"/v1/interactions/{asked['id']}/credential", given)
    assert (refused.status, refused.json["needs"]) == (403, "administer"), refused.body
    assert other.post(f"/v1/interactions/{asked['id']}/credential", given).status == 200


# -- 72 a credential that is no credential ----------------------------------------------------------------------------

LOADING = (
    "LD_PRELOAD", "LD_LIBRARY_PATH", "ld_preload", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "node_options",
    "NODE_PATH", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PATH", "Path", "HOME", "BASH_ENV", "ENV",
    "SHELLOPTS", "IFS", "PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS", "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "SSH_ASKPASS", "npm_config_registry",
    "NPM_CONFIG_SCRIPT_SHELL", "UV_INDEX_URL", "PIP_INDEX_URL", "http_proxy", "HTTPS_PROXY", "all_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "TMPDIR", "BASH_FUNC_ls", "GCONV_PATH", "LOCPATH",
    "DOTNET_STARTUP_HOOKS", "EXECUTOR_DATA_DIR", "XDG_CONFIG_HOME", "OPENSSL_CONF", "CLASSPATH",
)  # fmt: skip


# No list is complete: each of these makes some program run, load or fetch what its value says.
UNLISTED = (
    "TAR_OPTIONS",
    "MAKEFLAGS",
    "LUA_INIT_5_4",
    "RSYNC_RSH",
    "HGRCPATH",
    "PSQLRC",
    "AWS_CONFIG_FILE",
    "SOME_KEY",
)


@pytest.mark.parametrize("name", UNLISTED)
@pytest.mark.parametrize("role", ["admin", "owner"])
def test_72_only_the_operator_names_a_variable_of_a_command(
    home: Daemon, shops: tuple[Upstream, Upstream], role: str, name: str
) -> None:
    """Defence: `check_permitted` in `connections/new_connection.py`: a variable is part of what is run."""
    who = identities.invite(home, role)
    for scope in ("workspace", "actor"):
        given = {**by_hand("child", "environment", name), "name": f"{role}-{name}", "scope": scope}
        refused = who.post("/v1/connections", given)
        assert (refused.status, refused.json["needs"]) == (403, "operate"), refused.body


def test_72_an_admin_runs_nothing_by_a_variable_of_a_command(home: Daemon, tmp_path: Path) -> None:
    """A server that packs a file when it starts: `tar` runs what `TAR_OPTIONS` says."""
    script = f"tar -cf /dev/null -C {tmp_path} . ; exec {shlex.join(STDIO)}"
    source = {"command": ["sh", "-c", script], "consent": True, "namespace": "packing"}
    expect_created(operator(home).post("/v1/sources", source))
    named = operator(home).request("PATCH", "/v1/sources/packing", {"passEnvironment": ["KEY"], "consent": True})
    assert named.status == 200, named.body
    admin, ran = identities.invite(home, "admin"), tmp_path / "ran"
    options = {"values": {"value": f"--checkpoint=1 --checkpoint-action=exec=id>{ran}"}, "scope": "workspace"}
    assert admin.post("/v1/connections", by_hand("packing", "environment", "TAR_OPTIONS", **options)).status == 403
    assert admin.post("/v1/connections", by_hand("packing", "environment", "KEY", scope="workspace")).status == 201
    expect_created(operator(home).post("/v1/policies", {"pattern": "packing.**", "action": "allow"}))
    path = admin.get("/v1/tools?source=packing").json["items"][0]["path"]
    view = expect_created(
        admin.post("/v1/executions", {"code": f"return await tools.{path}({{}})", "typecheck": "off"})
    )
    assert (view["status"], ran.exists()) == ("completed", False), view


@pytest.mark.parametrize("name", LOADING)
def test_72_a_variable_that_changes_the_program_carries_no_credential(name: str) -> None:
    """Defence: `connections/placement.py`, when a connection is made and whenever it is used."""
    with pytest.raises(InvalidRequest, match="can't carry a credential"):
        check_variable(name)


@pytest.mark.parametrize("name", ["API_KEY", "GITHUB_TOKEN", "OPENAI_API_KEY", "DATABASE_PASSWORD", "NPM_TOKEN"])
def test_72_a_variable_for_a_key_carries_one(name: str) -> None:
    check_variable(name)


def test_72_not_even_the_operator_gives_one_in_such_a_place(home: Daemon, shops: tuple[Upstream, Upstream]) -> None:
    headers = ("Host", "mcp-session-id", "Mcp-Protocol-Version", "content-length", "Transfer-Encoding", "Last-Event-ID",
               "X-HTTP-Method-Override", "Forwarded", "X-Forwarded-Host", "Sec-Fetch-Site")  # fmt: skip
    bodies = [by_hand("shop", "header", name) for name in headers]
    bodies += [by_hand("child", "environment", name) for name in ("NODE_OPTIONS", "ld_preload", "A-B", "A=B")]
    for body in bodies:
        refused = operator(home).post("/v1/connections", {**body, "scope": "workspace", "name": "x"})
        assert (refused.status, refused.json["code"]) == (400, "invalid_request"), (body, refused.body)
    for name in ("Host", "MCP-Session-Id", "Transfer-Encoding", "last-event-id"):
        wish = {"location": f"{shops[0].url}/openapi.json", "namespace": "headed", "headers": {name: "x"}}
        assert operator(home).post("/v1/sources", wish).json["code"] == "invalid_request", name


# -- 73 a stored secret, by its name ----------------------------------------------------------------------------------


def test_73_a_member_names_no_stored_secret(home: Daemon, shops: tuple[Upstream, Upstream], member: Caller) -> None:
    """Defence: `check_permitted` in `connections/new_connection.py`."""
    view = expect_created(member.post("/v1/executions", {"code": "return await tools.other.all.keyed({})"}))
    [asked] = view["interactions"]
    for secret in ("PROD_PASSWORD", "NO_SUCH_SECRET"):  # nor is a member told which there are
        named = {"scope": "actor", "secrets": {"key": secret}}
        answers = [
            member.post("/v1/connections", {"source": "shop", **named, "name": "leak"}),
            member.post("/v1/connections", {"source": "other", **named, "allowOrigin": True}),
            member.post(f"/v1/interactions/{asked['id']}/credential", named),
        ]
        assert [(one.status, one.json["needs"]) for one in answers] == [(403, "administer")] * 3
    member.post(f"/v1/executions/{view['executionId']}/cancel")
    assert all(SECRET not in json.dumps(got.headers) for shop in shops for got in shop.requests)


def test_73_a_secret_goes_to_the_origin_of_its_first_use_until_an_administrator_allows_another(
    home: Daemon, shops: tuple[Upstream, Upstream]
) -> None:
    """Defence: `bind_origin` in `secrets/origins.py`, and `check_origin` on the way out."""
    mine, (shop, other) = operator(home), shops
    named = {"secrets": {"key": "PROD_PASSWORD"}, "scope": "workspace"}
    expect_created(mine.post("/v1/connections", {"source": "shop", "name": "prod", **named}))
    [shown] = mine.get("/v1/secrets").json["items"]
    assert shown["origins"] == [shop.url]
    for body in ({"source": "other", **named}, {"source": "other", "name": "b", **by_hand_secret()}):
        refused = mine.post("/v1/connections", body)
        assert (refused.status, refused.json["code"]) == (409, "secret_origin"), refused.body
        assert shop.url in refused.json["detail"] and other.url in refused.json["detail"]
        assert "allow-origin" in refused.json["hint"]
    view = expect_created(mine.post("/v1/executions", {"code": "return await tools.other.all.keyed({})"}))
    [asked] = view["interactions"]
    assert mine.post(f"/v1/interactions/{asked['id']}/credential", named).json["code"] == "secret_origin"
    assert all(SECRET not in json.dumps(got.headers) for got in other.requests)
    admin = identities.invite(home, "admin")
    assert admin.post("/v1/secrets/PROD_PASSWORD/origins", {"origin": f"{other.url}/a"}).json["origins"] == [
        shop.url,
        other.url,
    ]
    assert mine.post(f"/v1/interactions/{asked['id']}/credential", named).status == 200
    done = mine.post(f"/v1/executions/{view['executionId']}/resume", {"wait": 60}).json
    assert done["status"] == "completed" and other.requests[-1].headers["x-key"] == SECRET
    told = [event["type"] for event in mine.get("/v1/audit?limit=200").json["items"]]
    assert "secret.bound" in told and "secret.origin_allowed" in told


def by_hand_secret() -> dict[str, Any]:
    placement = {"in": "query", "name": "k", "template": "{value}"}
    return {"placements": [placement], "secrets": {"value": "PROD_PASSWORD"}, "scope": "workspace"}


def test_73_a_secret_that_was_wired_before_is_checked_again_on_its_way_out(
    home: Daemon, shops: tuple[Upstream, Upstream]
) -> None:
    """A row that got there in another way does not send it elsewhere."""
    import sqlalchemy as sa

    from executor.storage.tables.access import connections, secrets

    mine, (shop, _) = operator(home), shops
    expect_created(mine.post("/v1/secrets", {"name": "SECOND", "value": "second-secret-value"}))
    wired = expect_created(
        mine.post("/v1/connections", {"source": "shop", "name": "second", "secrets": {"key": "SECOND"}})
    )
    unbind = sa.update(secrets).where(secrets.c.name == "SECOND").values(origins='["https://else.example"]')
    home.run(home.executor.database.write(lambda c: c.execute(unbind)))
    home.executor.connections._read.clear()
    tested = mine.post(f"/v1/connections/{wired['id']}/test").json
    assert not tested["ok"] and "belongs to https://else.example" in tested["error"]
    assert connections is not None and all("second-secret" not in json.dumps(got.headers) for got in shop.requests)


# -- 74 a secret among the arguments of a program ---------------------------------------------------------------------


def run_cli(home: Daemon, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "EXECUTOR_TOKEN": home.tokens.operator}
    return subprocess.run(
        [sys.executable, CLI_CLIENT, str(home.port), *words],
        input=stdin,
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
    )


def test_74_the_command_line_takes_no_secret(home: Daemon, shops: tuple[Upstream, Upstream]) -> None:
    """Defence: `headers` and `variables` in `surfaces/cli/prompts/source_location.py`."""
    location = f"{shops[0].url}/openapi.json"
    for words in (
        (location, "--header", f"Authorization: Bearer {SECRET}"),
        (location, "--header", f"X-Key:{SECRET}"),
        ("--env", f"API_KEY={SECRET}", "--yes", "--", *STDIO),
        ("--env", f"DATABASE_URL=postgres://u:{SECRET}@h/d", "--yes", "--", *STDIO),
    ):
        refused = run_cli(home, "sources", "add", "--namespace", "argued", *words)
        assert refused.returncode == 2 and "standard input" in refused.stderr, refused.stderr
        assert SECRET not in refused.stderr + refused.stdout
    assert operator(home).get("/v1/sources/argued").status == 404


def test_74_values_are_read_from_standard_input(home: Daemon, shops: tuple[Upstream, Upstream]) -> None:
    shop = shops[0]
    words = ("sources", "add", f"{shop.url}/openapi.json", "--namespace", "piped", "--header", "X-Piped")
    added = run_cli(home, *words, "--header", "Accept: application/json", stdin="from-standard-input\n")
    assert added.returncode == 0, added.stderr
    done = expect_created(operator(home).post("/v1/executions", {"code": "return await tools.piped.all.free({})"}))
    assert done["status"] == "completed" and shop.requests[-1].headers["x-piped"] == "from-standard-input"
    child = run_cli(
        home, "sources", "add", "--namespace", "fed", "--env", "API_KEY", "--env", "MODE=plain", "--yes", "--", *STDIO,
        stdin="variable-from-input\n",
    )  # fmt: skip
    assert child.returncode == 0, child.stderr
    expect_created(operator(home).post("/v1/policies", {"pattern": "fed.**", "action": "allow"}))
    told = expect_created(operator(home).post("/v1/executions", {"code": "return await tools.fed.key({})"}))
    assert "key=none" not in json.dumps(told["result"]), told
