"""Attacks on who is who: guessing, keeping what was taken away, rising above oneself, posing as another."""

from __future__ import annotations

import time

import pytest

from tests.support.rate_limits import stop_rate_limit_clocks
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.api.identities import Caller, expect_created, fragment, nobody, operator


@pytest.fixture(autouse=True)
def forgiven(daemon: Daemon) -> None:
    daemon.executor.authenticator.attempts.clear()


def test_guessing_tokens_is_slowed_and_shuts_no_one_else_out(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Defence: `attempts.check` in identity/authentication.py; `_known` there keeps those out of it who were known
    before."""
    stop_rate_limit_clocks(daemon, monkeypatch)
    key, browser = identities.create_key(daemon, "read"), identities.signed_in(daemon)
    assert {caller.get("/v1/auth/whoami").status for caller in (key, browser)} == {200}
    deadline, refused = time.monotonic() + 60, None
    while refused is None and time.monotonic() < deadline:
        answer = Caller(daemon, "guess", f"exk_{time.monotonic_ns()}").get("/v1/auth/whoami")
        refused = answer if answer.status == 429 else None
    assert refused is not None and refused.json["code"] == "rate_limited"
    assert int(refused.headers["retry-after"]) >= 1
    everybody = (key, browser, operator(daemon), Caller(daemon, "agent", daemon.tokens.agent))
    assert {caller.get("/v1/auth/whoami").status for caller in everybody} == {200}


def test_guessing_links_and_invitations_is_slowed_too(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Defence: `attempts.spend` in surfaces/api/routes/identity/auth.py and surfaces/api/routes/identity/members.py."""
    stop_rate_limit_clocks(daemon, monkeypatch)
    for path in ("/v1/auth/sign-in", "/v1/invitations/accept"):
        daemon.executor.authenticator.attempts.clear()
        statuses = {nobody(daemon).post(path, {"token": f"guess{number}"}).status for number in range(200)}
        assert statuses == {401, 429}, path


def test_a_forwarded_address_does_not_choose_what_is_recorded(daemon: Daemon) -> None:
    """Defence: `proxy_headers=False` in daemon/server/http_server.py; uvicorn would believe loopback."""
    from executor.daemon.server.http_server import configuration

    assert configuration(object()).proxy_headers is False  # type: ignore[arg-type]


def test_a_program_makes_itself_another_credential(daemon: Daemon) -> None:
    """Defence: `@needs("human")` in surfaces/api/routes/identity/keys.py: a revoked key would live on in others."""
    programs = (
        identities.create_key(daemon, "discover", "execute", "read"),
        identities.agent(daemon, "minter"),
        identities.anonymous(daemon),
    )
    for program in programs:
        for path, body in (
            ("/v1/keys", {"name": "child"}),
            ("/v1/agents", {"name": "child"}),
            ("/v1/auth/links", {}),
            ("/v1/invitations", {}),
        ):
            assert program.post(path, body).status == 403, (program.name, path)


def test_an_agent_with_an_owners_key_reaches_no_more_over_mcp(daemon: Daemon) -> None:
    """Defence: `EngineGateway._actor` in surfaces/mcp/gateway.py caps whoever asks at what an agent may."""
    from executor.surfaces.mcp.gateway import ASKING, EngineGateway

    gateway = EngineGateway(daemon.executor, daemon.app.state.streams)
    token = ASKING.set(daemon.executor.tenancy.operator)
    try:
        acting = gateway._actor
    finally:
        ASKING.reset(token)
    assert acting.permissions == {"discover", "execute"}


def test_an_admin_becomes_an_owner(daemon: Daemon) -> None:
    """Defence: `refuse_above` in identity/members.py, for roles, invitations and links."""
    admin = identities.invite(daemon, "admin")
    own = daemon.executor.tenancy.account.id
    assert admin.patch(f"/v1/members/{admin.account}", {"role": "owner"}).status == 403
    assert admin.post("/v1/invitations", {"role": "owner"}).status == 403
    assert admin.post("/v1/auth/links", {"accountId": own}).status == 403
    assert admin.get("/v1/auth/whoami").json["role"] == "admin"


def test_a_link_or_an_invitation_is_used_by_many_at_once(daemon: Daemon) -> None:
    """Defence: `use_link` and `use` in storage: one statement marks and finds it, so the second finds nothing."""
    from concurrent.futures import ThreadPoolExecutor

    link = expect_created(operator(daemon).post("/v1/auth/links"))
    invitation = expect_created(operator(daemon).post("/v1/invitations"))
    for path, url in (("/v1/auth/sign-in", link["url"]), ("/v1/invitations/accept", invitation["url"])):
        with ThreadPoolExecutor(8) as pool:
            tries = [pool.submit(nobody(daemon).post, path, {"token": fragment(url)}) for _ in range(8)]
            statuses = sorted(one.result().status for one in tries)
        assert statuses == [200] + [401] * 7, path


def test_a_stranger_acts_in_our_workspace_by_naming_it(daemon: Daemon) -> None:
    """Defence: `_placed` in identity/authentication.py asks for a membership, of humans alone."""
    ours = {"X-Executor-Workspace": daemon.executor.tenancy.workspace.id}
    for caller in (identities.stranger(daemon), identities.anonymous(daemon)):
        assert caller.get("/v1/status", **ours).status == 404
        assert caller.post("/v1/executions", {"code": "return 1"}, **ours).status == 404
