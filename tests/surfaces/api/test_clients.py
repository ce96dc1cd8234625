"""/v1/clients, and tokens that are kept for clients on the daemon's machine."""

from __future__ import annotations

import stat
from collections.abc import Iterator

import pytest

from executor.identity.local_tokens import read_agent_token
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.api.identities import expect_created, operator


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("clients")) as daemon:
        yield daemon


def test_the_operator_gets_texts_that_name_this_installation(daemon: Daemon) -> None:
    for caller in (operator(daemon), identities.signed_in(daemon)):
        page = caller.get("/v1/clients?agent=claude").json
        texts = {one["id"]: one for one in page["items"]}
        assert f"--agent claude --data-dir {daemon.executor.settings.data_dir}" in texts["claude-code"]["stdio"]
        assert f"--port {daemon.executor.settings.port}" in texts["claude-code"]["stdio"]
        assert texts["claude-code"]["stdioEntry"]["args"][:3] == ["mcp", "--agent", "claude"]
        assert all(page["tokenPlaceholder"] in one["http"] for one in page["items"] if one["http"])
        assert daemon.tokens.agent not in str(page) and daemon.tokens.operator not in str(page)


@pytest.mark.parametrize("role", ["viewer", "member", "admin", "owner"])
def test_others_get_the_address_and_nothing_of_the_daemons_machine(daemon: Daemon, role: str) -> None:
    answer = identities.invite(daemon, role).get("/v1/clients?agent=claude")
    assert answer.status == 200
    assert all(one["stdio"] is None and one["http"] for one in answer.json["items"])
    assert not [one for one in answer.json["items"] if one["stdioEntry"] or one["install"]]
    assert str(daemon.executor.settings.data_dir).encode() not in answer.body


def test_programs_get_none_of_it(daemon: Daemon) -> None:
    callers = (
        identities.agent(daemon, "curious"),
        identities.create_key(daemon, "read", "execute", "discover"),
        identities.anonymous(daemon),
    )
    assert [caller.get("/v1/clients").status for caller in callers] == [403, 403, 403]
    assert identities.nobody(daemon).get("/v1/clients").status == 401


@pytest.mark.parametrize("name", ["../operator", "a/b", "a%20b", ".hidden", "x" * 65])
def test_a_name_that_is_no_file_is_refused(daemon: Daemon, name: str) -> None:
    assert operator(daemon).get(f"/v1/clients?agent={name}").status == 400
    refused = operator(daemon).post("/v1/agents", {"name": name, "keepToken": True})
    assert (refused.status, refused.json["code"]) == (400, "invalid_request")
    assert name not in {one["name"] for one in operator(daemon).get("/v1/agents").json["items"]}


def test_a_kept_token_is_in_a_file_that_only_the_operator_can_read(daemon: Daemon) -> None:
    agent = expect_created(operator(daemon).post("/v1/agents", {"name": "kept", "keepToken": True}))
    file = daemon.executor.settings.data_dir / "agents" / "kept.token"
    assert read_agent_token(daemon.executor.settings.data_dir, "kept") == agent["token"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    expect_created(operator(daemon).post("/v1/agents", {"name": "not-kept"}))
    assert not file.with_name("not-kept.token").exists()


@pytest.mark.parametrize("role", ["admin", "owner"])
def test_only_the_operator_keeps_tokens_on_the_daemons_machine(daemon: Daemon, role: str) -> None:
    caller = identities.invite(daemon, role)
    assert caller.post("/v1/agents", {"name": f"of-{role}", "keepToken": True}).status == 403
    assert expect_created(caller.post("/v1/agents", {"name": f"of-{role}"}))["token"]
    assert not (daemon.executor.settings.data_dir / "agents" / f"of-{role}.token").exists()


def test_a_token_kept_for_another_workspace_is_not_replaced(daemon: Daemon) -> None:
    """A client that uses it would act elsewhere from then on."""
    first = expect_created(operator(daemon).post("/v1/agents", {"name": "twice", "keepToken": True}))
    place = expect_created(operator(daemon).post("/v1/workspaces", {"name": "Second"}))
    there = operator(daemon, place["id"])
    refused = there.post("/v1/agents", {"name": "twice", "keepToken": True})
    assert refused.json["code"] == "conflict"
    assert read_agent_token(daemon.executor.settings.data_dir, "twice") == first["token"]
    operator(daemon).delete(f"/v1/agents/{first['id']}")
    second = expect_created(there.post("/v1/agents", {"name": "twice", "keepToken": True}))
    assert read_agent_token(daemon.executor.settings.data_dir, "twice") == second["token"]
