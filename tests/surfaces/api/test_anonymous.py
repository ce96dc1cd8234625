"""Agents that nobody vouches for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from executor.settings import Settings
from tests.support.rate_limits import stop_rate_limit_clocks
from tests.support.tool_results import about, value_of
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.api.identities import Caller, expect_created, nobody, operator

HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "execute", "arguments": {"code": "return 6 * 7"}},
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("anonymous")) as daemon:
        yield daemon


def test_an_agent_without_a_credential_gets_a_workspace_of_its_own(daemon: Daemon) -> None:
    daemon.executor.anonymous.starts.clear()
    session = expect_created(nobody(daemon).post("/v1/auth/anonymous/bootstrap"))
    assert session.keys() == {"sessionId", "workspaceId", "actorId", "clientId"}
    body = {"sessionId": session["sessionId"], "clientId": session["clientId"]}
    token = nobody(daemon).post("/v1/auth/anonymous/token", body).json
    assert (token["tokenType"], token["accessToken"][:4]) == ("Bearer", "exn_")
    who = Caller(daemon, "it", token["accessToken"]).get("/v1/auth/whoami").json
    assert (who["actorId"], who["workspace"]["id"]) == (session["actorId"], session["workspaceId"])
    assert (who["via"], who["permissions"]) == ("anonymous", ["discover", "execute"])
    assert who["workspace"]["id"] != daemon.executor.tenancy.workspace.id


def test_it_speaks_mcp_at_its_own_address_and_sees_nothing_of_others(daemon: Daemon) -> None:
    one, other = identities.anonymous(daemon), identities.anonymous(daemon)
    answer = one.post("/mcp/anonymous", CALL, **HEADERS).json["result"]
    assert value_of(answer) == 42
    assert one.get(f"/v1/executions/{about(answer)['executionId']}").status == 200
    assert other.get(f"/v1/executions/{about(answer)['executionId']}").status == 404
    assert operator(daemon).get(f"/v1/executions/{about(answer)['executionId']}").status == 404
    assert one.get("/v1/tools").json["items"] == []


def test_keys_and_agents_may_use_that_address_too(daemon: Daemon) -> None:
    for caller in (identities.create_key(daemon, "execute"), Caller(daemon, "agent", daemon.tokens.agent)):
        assert caller.post("/mcp/anonymous", CALL, **HEADERS).status == 200
    assert operator(daemon).post("/mcp/anonymous", CALL, **HEADERS).status == 403
    assert nobody(daemon).post("/mcp/anonymous", CALL, **HEADERS).status == 401


def test_a_new_token_ends_the_one_before(daemon: Daemon) -> None:
    daemon.executor.anonymous.starts.clear()
    session = expect_created(nobody(daemon).post("/v1/auth/anonymous/bootstrap"))
    first, second = (
        nobody(daemon).post("/v1/auth/anonymous/token", {"sessionId": session["sessionId"]}).json["accessToken"]
        for _ in range(2)
    )
    assert Caller(daemon, "first", first).get("/v1/auth/whoami").status == 401
    assert Caller(daemon, "second", second).get("/v1/auth/whoami").status == 200


def test_a_session_that_was_not_started_gets_no_token_and_few_tries(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_rate_limit_clocks(daemon, monkeypatch)
    session = expect_created(nobody(daemon).post("/v1/auth/anonymous/bootstrap"))
    wrong = {"sessionId": session["sessionId"], "clientId": "cli_other"}
    assert nobody(daemon).post("/v1/auth/anonymous/token", wrong).status == 401
    bodies = ({"sessionId": session[name]} for name in ("clientId", "workspaceId", "actorId"))
    assert {nobody(daemon).post("/v1/auth/anonymous/token", body).status for body in bodies} == {401}
    statuses = [nobody(daemon).post("/v1/auth/anonymous/token", wrong).status for _ in range(10)]
    assert statuses[-1] == 429
    daemon.executor.anonymous.failures.clear()


def test_one_address_can_start_only_so_many(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_rate_limit_clocks(daemon, monkeypatch)
    daemon.executor.anonymous.starts.clear()
    answers = [nobody(daemon).post("/v1/auth/anonymous/bootstrap") for _ in range(11)]
    assert [answer.status for answer in answers] == [201] * 10 + [429]
    assert int(answers[-1].headers["retry-after"]) > 60
    daemon.executor.anonymous.starts.clear()


def test_there_are_only_so_many_and_unused_ones_make_room(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    from executor.identity import anonymous
    from executor.storage.identity import anonymous as rows

    old = identities.anonymous(daemon)
    daemon.executor.anonymous.starts.clear()
    count = daemon.run(daemon.executor.database.read(rows.count))
    monkeypatch.setattr(anonymous, "MOST", count)
    refused = nobody(daemon).post("/v1/auth/anonymous/bootstrap")
    assert (refused.status, refused.json["code"]) == (503, "busy")
    monkeypatch.setattr(anonymous, "UNUSED_MS", 0)
    assert nobody(daemon).post("/v1/auth/anonymous/bootstrap").status == 201
    assert old.get("/v1/auth/whoami").status == 401


@pytest.mark.parametrize(
    ("setting", "host", "admitted"),
    [
        ("auto", "127.0.0.1", True),
        ("auto", "::1", True),
        ("auto", "::", False),
        ("auto", "192.168.1.2", False),
        ("on", "::", True),
        ("off", "127.0.0.1", False),
    ],
)
def test_left_to_itself_only_a_daemon_on_loopback_takes_strangers(setting: str, host: str, admitted: bool) -> None:
    environment = {"EXECUTOR_ANONYMOUS": setting, "EXECUTOR_HOST": host}
    assert Settings.load(environment).admits_anonymous is admitted


def test_switched_off_no_one_comes_in_and_those_inside_are_out(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as daemon:
        inside = identities.anonymous(daemon)
        assert inside.get("/v1/auth/whoami").status == 200
    with running_daemon(tmp_path, anonymous="off") as daemon:
        assert nobody(daemon).post("/v1/auth/anonymous/bootstrap").status == 403
        assert Caller(daemon, "inside", inside.token).get("/v1/auth/whoami").status == 401
