"""Tokens of an outside authorization server at `/mcp`: what clients are told, whom a token stands for, what it may."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from tests.support.token_issuer import SCOPE, TokenIssuer, issuing
from tests.support.tool_results import about, text_of, value_of
from tests.surfaces.api.daemon_server import Answer, Daemon, running_daemon
from tests.surfaces.api.identities import operator

METADATA = "/.well-known/oauth-protected-resource"
HANDSHAKE = {"mcp-protocol-version": "2025-11-25", "Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def authority() -> Iterator[TokenIssuer]:
    with issuing("/realm") as authority:
        yield authority


@pytest.fixture(scope="module")
def daemon(authority: TokenIssuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("daemon"), mcp_issuer=authority.issuer) as daemon:
        authority.ledger.resource = f"{daemon.url}/mcp"
        yield daemon


@pytest.fixture(autouse=True)
def forgiven(daemon: Daemon) -> None:
    daemon.executor.authenticator.attempts.clear()


def ask(daemon: Daemon, token: str | None, name: str = "execute", **arguments: Any) -> Answer:
    params = {"name": name, "arguments": arguments or {"code": "return 1 + 1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return daemon.post("/mcp", message, role=token, headers=HANDSHAKE)


class Kept:
    """What a client keeps between its runs."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Person:
    """Somebody who consents in a browser, which ends up at the client's own address."""

    def __init__(self) -> None:
        self.came_back: dict[str, str] = {}

    async def visit(self, url: str) -> None:
        async with httpx2.AsyncClient(trust_env=False) as browser:
            answer = await browser.get(url)
        self.came_back = dict(parse_qsl(urlsplit(answer.headers["location"]).query))

    async def report(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**{name: self.came_back.get(name) for name in ("code", "state", "iss")})


async def test_the_official_client_finds_the_server_logs_in_and_executes(
    daemon: Daemon, authority: TokenIssuer
) -> None:
    person, kept = Person(), Kept()
    about = OAuthClientMetadata(redirect_uris=["http://127.0.0.1:9/done"], client_name="dance", scope=None)
    auth = OAuthClientProvider(f"{daemon.url}/mcp", about, kept, person.visit, person.report)
    async with (
        httpx2.AsyncClient(auth=auth, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(f"{daemon.url}/mcp", http_client=http)) as client,
    ):
        result = await client.call_tool("execute", {"code": "return 6 * 7"})
    assert text_of(result) == "42"
    assert kept.tokens is not None and kept.tokens.access_token.count(".") == 2
    assert kept.tokens.scope == SCOPE
    assert authority.ledger.asked["registration"] == 1


def test_a_request_without_a_token_learns_where_to_get_one(daemon: Daemon) -> None:
    refused = ask(daemon, None)
    assert refused.status == 401
    expected = f'Bearer resource_metadata="{daemon.url}{METADATA}/mcp", scope="{SCOPE}"'
    assert refused.headers["www-authenticate"] == expected


def test_a_bad_token_is_refused_as_such(daemon: Daemon, authority: TokenIssuer) -> None:
    for token in ("nonsense", authority.token(exp=1)):
        challenge = ask(daemon, token).headers["www-authenticate"]
        assert 'error="invalid_token"' in challenge and "resource_metadata=" in challenge
    assert 'error_description="the token has expired"' in challenge


def test_the_scope_that_a_token_lacks_is_named(daemon: Daemon, authority: TokenIssuer) -> None:
    refused = ask(daemon, authority.token(scope="openid executor"))
    assert (refused.status, refused.json["code"], refused.json["scope"]) == (403, "insufficient_scope", SCOPE)
    challenge = refused.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in challenge and f'scope="{SCOPE}"' in challenge


def test_other_addresses_do_not_speak_of_the_authorization_server(daemon: Daemon) -> None:
    assert daemon.get("/v1/status", role=None).headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("path", [METADATA, f"{METADATA}/mcp"])
def test_the_protected_resource_is_described_to_anybody(daemon: Daemon, authority: TokenIssuer, path: str) -> None:
    described = daemon.get(path, role=None)
    assert described.status == 200
    assert described.json == {
        "resource": f"{daemon.url}/mcp",
        "resource_name": "Executor",
        "authorization_servers": [authority.issuer],
        "scopes_supported": [SCOPE],
        "bearer_methods_supported": ["header"],
    }


def test_older_clients_find_the_metadata_of_the_server_here(daemon: Daemon, authority: TokenIssuer) -> None:
    assert daemon.get("/.well-known/oauth-authorization-server", role=None).json == authority.document()


def test_each_subject_is_an_agent_of_its_own_that_sees_only_what_it_did(daemon: Daemon, authority: TokenIssuer) -> None:
    made = ask(daemon, authority.token(sub="bea", name="Bea")).json["result"]
    again = ask(
        daemon, authority.token(sub="bea", name="Somebody else"), "resume", executionId=about(made)["executionId"]
    )
    other = ask(daemon, authority.token(sub="cal"), "resume", executionId=about(made)["executionId"])
    assert value_of(again.json["result"]) == 2
    assert other.json["result"]["isError"] and "not_found" in json.dumps(other.json)
    named = [one["name"] for one in operator(daemon).get("/v1/agents").json["items"]]
    host = urlsplit(authority.issuer).netloc
    assert named.count(f"Bea ({host})") == 1 and f"cal ({host})" in named
    created = [one for one in daemon.get("/v1/events?limit=1000").json["items"] if one["type"] == "agent.created"]
    assert "bea" in [one["data"].get("subject") for one in created]


def test_the_audit_tells_by_which_token_and_from_where(daemon: Daemon, authority: TokenIssuer) -> None:
    ask(daemon, authority.token(sub="dan"))
    origins = [one["origin"] or "" for one in daemon.get("/v1/audit?limit=1000").json["items"]]
    assert any(one.startswith("bearer jwt_") and one.endswith("127.0.0.1 mcp") for one in origins)


def test_a_name_is_shown_in_one_line_and_with_where_it_is_from(daemon: Daemon, authority: TokenIssuer) -> None:
    ask(daemon, authority.token(sub="eve", name="operator\n\u202e<b>" + "x" * 500))
    [found] = [one["name"] for one in operator(daemon).get("/v1/agents").json["items"] if "operator" in one["name"]]
    assert found.isprintable() and len(found) < 120 and found.endswith(f"({urlsplit(authority.issuer).netloc})")


def test_an_agent_that_was_revoked_stays_out_with_every_token(daemon: Daemon, authority: TokenIssuer) -> None:
    assert ask(daemon, authority.token(sub="fay")).status == 200
    [found] = [one for one in operator(daemon).get("/v1/agents").json["items"] if one["name"].startswith("fay ")]
    assert operator(daemon).delete(f"/v1/agents/{found['id']}").status == 204
    assert ask(daemon, authority.token(sub="fay")).status == 401
    assert operator(daemon).delete(f"/v1/agents/{found['id']}").status == 409


def test_scopes_may_come_as_a_list(daemon: Daemon, authority: TokenIssuer) -> None:
    assert ask(daemon, authority.token(scope=None, scp=[SCOPE, "other"])).status == 200
    assert ask(daemon, authority.token(scope=None, scp=f"other {SCOPE}")).status == 200
    assert ask(daemon, authority.token(scope=None)).status == 403


def test_our_own_tokens_work_as_before(daemon: Daemon) -> None:
    assert ask(daemon, "agent").status == 200
    assert ask(daemon, "operator").status == 200


def test_without_an_authorization_server_there_is_nothing_to_find(tmp_path: Path, authority: TokenIssuer) -> None:
    with running_daemon(tmp_path) as plain:
        assert plain.get(METADATA, role=None).status == 404
        assert plain.get("/.well-known/oauth-authorization-server", role=None).status == 404
        refused = ask(plain, authority.token())
        assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")


def test_another_audience_and_other_scopes_can_be_agreed_on(tmp_path: Path, authority: TokenIssuer) -> None:
    options: dict[str, Any] = {"mcp_audience": "api://executor", "mcp_scopes": (), "mcp_issuer": authority.issuer}
    with running_daemon(tmp_path, **options, mcp_jwks_url=f"{authority.issuer}/jwks") as daemon:
        assert ask(daemon, authority.token(aud=["x", "api://executor"], scope=None)).status == 200
        assert ask(daemon, authority.token(aud=f"{daemon.url}/mcp", scope=None)).status == 401


def test_a_server_that_can_not_be_asked_lets_no_one_in(tmp_path: Path, authority: TokenIssuer) -> None:
    with running_daemon(tmp_path, mcp_issuer="http://127.0.0.1:9") as daemon:
        refused = ask(daemon, authority.token(iss="http://127.0.0.1:9"))
        assert (refused.status, refused.json["code"]) == (503, "issuer_unavailable")
        assert ask(daemon, "agent").status == 200


def test_a_workspace_that_is_not_there_lets_no_one_in(tmp_path: Path, authority: TokenIssuer) -> None:
    with running_daemon(tmp_path, mcp_issuer=authority.issuer, mcp_workspace="ws_none") as daemon:
        refused = ask(daemon, authority.token(aud=f"{daemon.url}/mcp"))
        assert (refused.status, "mcp_workspace" in refused.json["hint"]) == (403, True)
