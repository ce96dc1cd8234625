"""Attacks 68 to 70: to do more than one's role by having it approved, and to approve one's own requests."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.execution.builtins.declaration import own_tool
from executor.execution.builtins.tools import BUILTINS
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json, serving
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.api.identities import Caller, expect_created, operator

SERVER = Path(__file__).parents[1] / "sources" / "mcp" / "servers" / "real.py"
OPERATIONS = {"get": "look", "post": "write", "delete": "wipe"}


def document(host: str) -> dict[str, Any]:
    answers = {"200": {"description": "done"}}
    paths = {
        "/all": {
            method: {"operationId": name, "tags": ["all"], "responses": answers} for method, name in OPERATIONS.items()
        }
    }
    info = {"title": "Vault", "version": "1"}
    return {"openapi": "3.1.0", "info": info, "servers": [{"url": f"http://{host}"}], "paths": paths}


def answer(got: Got, handler: Handler) -> Reply:
    return as_json(document(got.headers["host"]) if got.target == "/openapi.json" else {"done": True})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("authority")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def vault(home: Daemon) -> Iterator[Upstream]:
    with serving() as upstream:
        upstream.otherwise = answer
        expect_created(
            operator(home).post("/v1/sources", {"location": f"{upstream.url}/openapi.json", "namespace": "vault"})
        )
        yield upstream


@pytest.fixture(scope="module")
def member(home: Daemon) -> Caller:
    return identities.invite(home, "member")


@pytest.fixture(scope="module")
def admin(home: Daemon) -> Caller:
    return identities.invite(home, "admin")


def count_wipes(vault: Upstream) -> int:
    return sum(got.method == "DELETE" for got in vault.requests)


def submit(caller: Caller, code: str, language: str = "typescript") -> dict[str, Any]:
    view: dict[str, Any] = expect_created(caller.post("/v1/executions", {"code": code, "language": language}))
    assert view["status"] == "paused", view
    return view


def call_of(language: str, path: str, arguments: dict[str, Any]) -> str:
    if language == "python":
        given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        return f"await tools.{path}({given})"
    return f"return await tools.{path}({json.dumps(arguments)})"


def settle(caller: Caller, interaction: str, act: str = "approve", **body: Any) -> Any:
    return caller.post(f"/v1/interactions/{interaction}/{act}", body)


# -- 68 a member has an administrator's act approved, by themselves ---------------------------------------------------


def administering(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """The acts of `executor.sources.add`, each with what it would leave behind."""
    trace = tmp_path / "trace"
    return {
        "a private network": {"url": "http://127.0.0.1:9/openapi.json", "namespace": "inside"},
        "a public address": {"url": "https://api.example.com/openapi.json", "namespace": "outside"},
        "a template": {"url": "github", "namespace": "named"},
        "a command": {"command": ["sh", "-c", f"touch {trace}"], "namespace": "shell"},
        "a module": {"url": "python:textwrap", "namespace": "module"},
        "a kind that runs code": {"url": "textwrap", "kind": "python", "namespace": "kind"},
    }


@pytest.mark.parametrize("language", ["typescript", "python"])
def test_68_a_member_can_not_settle_what_only_an_administrator_may_do(
    home: Daemon, member: Caller, tmp_path: Path, language: str
) -> None:
    """Defence: `Tool.needs` and `Authority.check`, in the transaction that settles."""
    other = identities.invite(home, "member")
    for arguments in administering(tmp_path).values():
        view = submit(member, call_of(language, "executor.sources.add", arguments), language)
        [asked] = view["interactions"]
        for caller in (member, other):
            for body in ({}, {"scope": "execution"}, {"scope": "always"}):
                assert settle(caller, asked["id"], **body).status == 403, arguments
            assert settle(caller, asked["id"], "deny").status == 403, arguments
            seen = caller.get(f"/v1/interactions/{asked['id']}").json
            assert seen["status"] == "pending" and "administer" in seen["needs"], seen
            assert seen["refusal"]["code"] == "forbidden" and "administrator" in seen["refusal"]["message"]
        assert made_nothing(home, arguments["namespace"]) and not (tmp_path / "trace").exists()
        operator(home).post(f"/v1/executions/{view['executionId']}/cancel")


def made_nothing(home: Daemon, namespace: str) -> bool:
    return operator(home).get(f"/v1/sources/{namespace}").status == 404


def test_68_an_approval_that_gets_no_answer_from_members_waits_for_an_administrator(
    home: Daemon, vault: Upstream, member: Caller, admin: Caller
) -> None:
    arguments = {"url": f"{vault.url}/openapi.json", "namespace": "approved"}
    view = submit(member, call_of("typescript", "executor.sources.add", arguments))
    [asked] = view["interactions"]
    assert admin.get(f"/v1/interactions/{asked['id']}").json["refusal"] is None
    assert settle(admin, asked["id"]).status == 200
    done = member.post(f"/v1/executions/{view['executionId']}/resume", {"wait": 60}).json
    assert (done["status"], done["result"]["namespace"]) == ("completed", "approved"), done


def test_68_a_built_in_that_changes_something_says_what_it_needs() -> None:
    for tool in BUILTINS.values():
        assert tool.effect == "read" or tool.needs, tool.path
    with pytest.raises(TypeError, match="does not declare its permission"):
        own_tool("executor.anything", "Does something.", "write", {})


# -- 69 an organization's administrator is not the machine's owner ----------------------------------------------------


def others(home: Daemon) -> list[Caller]:
    """An admin and an owner beside the operator, and an owner of another organization."""
    return [identities.invite(home, "admin"), identities.invite(home, "owner"), identities.stranger(home)]


def test_69_no_one_but_the_operator_runs_a_command_or_a_module(home: Daemon, tmp_path: Path) -> None:
    """Defence: `by_operator` of the consent, checked by `sources/lifecycle/consent.py` wherever something is run."""
    trace = tmp_path / "ran"
    wishes = (
        {"command": ["sh", "-c", f"touch {trace}"]},
        {"command": [sys.executable, str(SERVER), "stdio"], "kind": "mcp"},
        {"location": "python:textwrap"},
        {"location": "textwrap", "kind": "python"},
    )
    for caller in others(home):
        for wish in wishes:
            for road in ("", "/probe", "/preview"):
                answer = caller.post(f"/v1/sources{road}", {**wish, "consent": True, "namespace": "mine"})
                assert (answer.status, answer.json["code"]) == (403, "forbidden"), (
                    caller.name,
                    wish,
                    road,
                    answer.body,
                )
                assert answer.json["needs"] == "operate"
        assert not trace.exists()


@pytest.mark.parametrize("language", ["typescript", "python"])
def test_69_no_one_but_the_operator_lets_code_run_a_command_or_a_module(
    home: Daemon, tmp_path: Path, language: str
) -> None:
    acts = administering(tmp_path)
    for caller in others(home):
        for name in ("a command", "a module", "a kind that runs code"):
            view = submit(caller, call_of(language, "executor.sources.add", acts[name]), language)
            [asked] = view["interactions"]
            seen = caller.get(f"/v1/interactions/{asked['id']}").json
            assert seen["waitsFor"] == "the operator of this installation"
            refused = settle(caller, asked["id"])
            assert (refused.status, refused.json["needs"]) == (403, "operate"), refused.body
            caller.post(f"/v1/executions/{view['executionId']}/cancel")
        assert not (tmp_path / "trace").exists()


def test_69_a_command_that_the_operator_approved_runs_and_others_can_not_run_it_again(
    home: Daemon, member: Caller, admin: Caller
) -> None:
    command = [sys.executable, str(SERVER), "stdio"]
    code = call_of("typescript", "executor.sources.add", {"command": command, "namespace": "local"})
    view = submit(member, code)
    assert settle(identities.signed_in(home), view["interactions"][0]["id"]).status == 200
    done = member.post(f"/v1/executions/{view['executionId']}/resume", {"wait": 60}).json
    assert done["status"] == "completed", done
    assert admin.post("/v1/sources/local/refresh").json["needs"] == "operate"
    assert operator(home).post("/v1/sources/local/refresh").status == 200
    assert admin.patch("/v1/sources/local", {"name": "another"}).json["command"] == command
    assert admin.delete("/v1/sources/local").status == 200


def test_69_a_file_of_this_machine_is_read_for_its_operator_alone(home: Daemon, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text('{"type": "string", "description": "s3cret-of-the-machine"}')
    paths = {"/a": {"get": {"operationId": "a", "responses": {"200": {"description": "ok", "content": {
        "application/json": {"schema": {"$ref": "./secret.json"}}}}}}}}  # fmt: skip
    text = json.dumps({"openapi": "3.1.0", "info": {"title": "F", "version": "1"}, "paths": paths})
    body = {"document": text, "location": str(tmp_path / "api.json"), "baseUrl": "http://127.0.0.1:9"}
    (tmp_path / "api.json").write_text(text)
    for number, caller in enumerate(others(home)):
        added = expect_created(caller.post("/v1/sources", {**body, "namespace": f"file{number}"}))
        assert added["location"] is None
        assert caller.post(f"/v1/sources/file{number}/refresh").status == 409
        shown = [caller.get(f"/v1/sources/file{number}{part}").body for part in ("", "/document")]
        shown += [caller.get(f"/v1/tools/{tool['path']}").body for tool in caller.get("/v1/tools").json["items"]]
        assert b"s3cret-of-the-machine" not in b"".join(shown)
        by_address = caller.post("/v1/sources", {**body, "specUrl": str(tmp_path / "api.json"), "namespace": "spec"})
        assert by_address.json["needs"] == "operate"


def test_69_the_machines_own_credentials_are_not_an_organizations(home: Daemon) -> None:
    for caller in others(home):
        for provider, reference in (
            ("environment", "EXECUTOR_SECRET_MAIL"),
            ("vault", "kv/app#password"),
            ("onepassword", "op://a/b/c"),
        ):
            body = {"name": "theirs", "provider": provider, "reference": reference}
            assert caller.post("/v1/secrets", body).json["needs"] == "operate", caller.name
        assert caller.post("/v1/secrets/rotate-key").status == 403
        metadata = {"location": "http://169.254.169.254/latest/openapi.json", "kind": "openapi", "namespace": "meta"}
        assert caller.post("/v1/sources", metadata).json["code"] == "egress_refused"


def test_69_no_one_signs_in_as_the_operator_or_as_someone_of_another_organization(home: Daemon) -> None:
    """Defence: `refuse_elsewhere` in `identity/sessions.py`."""
    mine = operator(home).get("/v1/auth/whoami").json["accountId"]
    owner, elsewhere = identities.invite(home, "owner"), identities.stranger(home)
    assert owner.post("/v1/auth/links", {"accountId": mine}).json["needs"] == "operate"
    assert elsewhere.post("/v1/auth/links", {"accountId": mine}).status == 403
    place = expect_created(operator(home).post("/v1/organizations", {"name": "Third"}))
    invitation = expect_created(operator(home, place["id"]).post("/v1/invitations", {"role": "owner"}))
    both = identities.invite(home, "member")
    both.post("/v1/invitations/accept", {"token": identities.fragment(invitation["url"])})
    assert owner.post("/v1/auth/links", {"accountId": both.account}).status == 403
    alone = identities.invite(home, "member")
    assert owner.post("/v1/auth/links", {"accountId": alone.account}).status == 201


def test_69_the_operator_is_one_in_a_terminal_and_in_a_browser_and_not_with_a_key(home: Daemon) -> None:
    def may(caller: Caller) -> bool:
        return "operate" in caller.get("/v1/auth/whoami").json["permissions"]

    assert may(operator(home)) and may(identities.signed_in(home))
    keyed = identities.create_key(home, "discover", "execute", "read")
    others_ = [*others(home), keyed, identities.agent(home, "robot"), Caller(home, "agent", home.tokens.agent)]
    assert not [caller.name for caller in others_ if may(caller)]


# -- 70 whoever asks approves it too ----------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["typescript", "python"])
def test_70_no_one_approves_their_own_destructive_call_once_there_are_two(
    home: Daemon, vault: Upstream, member: Caller, admin: Caller, language: str
) -> None:
    """Defence: `Authority` in `execution/approvals/authority.py`."""
    robot = identities.agent(home, f"wiper-{language}")
    for asking, own in ((member, member), (admin, admin), (robot, operator(home)), (operator(home), operator(home))):
        before = count_wipes(vault)
        view = submit(asking, call_of(language, "vault.all.wipe", {}), language)
        [asked] = view["interactions"]
        for body in ({}, {"scope": "execution"}):
            refused = settle(own, asked["id"], **body)
            assert (refused.status, refused.json["code"]) == (403, "separation_of_duties"), (own.name, refused.body)
            assert "ask " in refused.json["hint"]
        assert own.get(f"/v1/interactions/{asked['id']}").json["refusal"]["code"] == "separation_of_duties"
        assert count_wipes(vault) == before
        other = admin if own is member else member
        assert settle(other, asked["id"]).status == 200
        done = asking.post(f"/v1/executions/{view['executionId']}/resume", {"wait": 60}).json
        assert done["status"] == "completed" and count_wipes(vault) == before + 1, done


def test_70_anyone_who_asked_may_withdraw_it_and_approve_a_write(home: Daemon, vault: Upstream, member: Caller) -> None:
    view = submit(member, call_of("typescript", "vault.all.wipe", {}))
    assert settle(member, view["interactions"][0]["id"], "deny").status == 200
    view = submit(member, call_of("typescript", "vault.all.write", {}))
    assert settle(member, view["interactions"][0]["id"]).status == 200


def test_70_administrators_choose_what_is_separated_and_members_do_not(
    home: Daemon, vault: Upstream, member: Caller, admin: Caller
) -> None:
    assert member.patch("/v1/separation", {"separation": "off"}).status == 403
    assert member.get("/v1/separation").json == {"separation": "default", "inForce": "destructive"}
    try:
        assert admin.patch("/v1/separation", {"separation": "all"}).json["inForce"] == "all"
        view = submit(member, call_of("typescript", "vault.all.write", {}))
        assert settle(member, view["interactions"][0]["id"]).json["code"] == "separation_of_duties"
        assert admin.patch("/v1/separation", {"separation": "off"}).json["inForce"] == "off"
        assert settle(member, view["interactions"][0]["id"]).status == 200
        assert submit(member, call_of("typescript", "vault.all.wipe", {}))
    finally:
        admin.patch("/v1/separation", {"separation": "default"})
    changes = operator(home).get("/v1/audit?type=organization.separation_changed").json["items"]
    assert len(changes) == 3


def test_70_alone_or_where_no_one_else_could_one_approves_ones_own(home: Daemon, vault: Upstream) -> None:
    """No dead end: with viewers alone beside them, the one who may decide decides."""
    place = expect_created(operator(home).post("/v1/organizations", {"name": "Small"}))
    alone = operator(home, place["id"])
    expect_created(alone.post("/v1/sources", {"location": f"{vault.url}/openapi.json", "namespace": "vault"}))
    assert alone.get("/v1/separation").json["inForce"] == "off"
    view = submit(alone, call_of("typescript", "vault.all.wipe", {}))
    assert settle(alone, view["interactions"][0]["id"]).status == 200
    identities.invite(home, "viewer", alone)
    assert alone.get("/v1/separation").json["inForce"] == "destructive"
    view = submit(alone, call_of("typescript", "vault.all.wipe", {}))
    assert settle(alone, view["interactions"][0]["id"]).status == 200
    identities.invite(home, "member", alone)
    view = submit(alone, call_of("typescript", "vault.all.wipe", {}))
    assert settle(alone, view["interactions"][0]["id"]).json["code"] == "separation_of_duties"
