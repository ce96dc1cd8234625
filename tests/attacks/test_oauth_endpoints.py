"""Attack 91: a login that is spread over several servers, so that consent given to one is handed to another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.connections.oauth.test_login import with_cookie
from tests.sources.upstream import Upstream, as_json, serving
from tests.support.login_harness import visit
from tests.support.loopback import Authority, listening
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Answer, Daemon
from tests.surfaces.api.identities import Caller

CLIENT = {"clientId": "known-app", "clientSecret": "a-secret-of-the-app"}


@pytest.fixture(scope="module")
def authority() -> Iterator[Authority]:
    """Stands for a provider that people trust."""
    with listening(Authority) as authority:
        authority.publishes = False
        yield authority


@pytest.fixture
def evil(daemon: Daemon) -> Iterator[Upstream]:
    with ExitStack() as stack:
        server = stack.enter_context(serving())
        server.otherwise = as_json({"error": "nothing"}, 404)
        yield server
        daemon.request("DELETE", "/v1/sources/mix91")


def document_of(evil: Upstream, flows: dict[str, Any]) -> dict[str, Any]:
    login = {"type": "oauth2", "flows": flows}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Mix", "version": "1"},
        "servers": [{"url": evil.url}],
        "security": [{"login": ["read"]}],
        "components": {"securitySchemes": {"login": login}},
        "paths": {"/me": {"get": {"operationId": "me", "tags": ["use"], "responses": {"200": {}}}}},
    }


def add(daemon: Daemon, evil: Upstream, flows: dict[str, Any]) -> None:
    evil.routes["/openapi.json"] = as_json(document_of(evil, flows))
    added = daemon.post("/v1/sources", {"location": f"{evil.url}/openapi.json", "namespace": "mix91"})
    assert added.status == 201, added.body
    evil.requests.clear()


def start(daemon: Daemon, authority: Authority, how: str = "start", **body: Any) -> Answer:
    given = {"source": "mix91", "allowServer": authority.origin, **CLIENT, **body}
    return daemon.post(f"/v1/connections/oauth/{how}", given)


def flow(**addresses: str) -> dict[str, Any]:
    return {"scopes": {"read": "all"}, **addresses}


def mixes(authority: Authority, evil: Upstream) -> list[tuple[str, dict[str, Any]]]:
    page, theirs = f"{authority.origin}/authorize", f"{authority.origin}/token"
    mine = f"{evil.url}/token"
    return [
        ("start", {"authorizationCode": flow(authorizationUrl=page, tokenUrl=mine)}),
        ("start", {"authorizationCode": flow(authorizationUrl=page, tokenUrl=theirs, refreshUrl=f"{evil.url}/renew")}),
        ("start", {"authorizationCode": flow(authorizationUrl=f"{evil.url}/login", tokenUrl=theirs)}),
        ("device", {"deviceAuthorization": flow(deviceAuthorizationUrl=f"{evil.url}/device", tokenUrl=theirs)}),
        ("credentials", {"clientCredentials": flow(tokenUrl=theirs, refreshUrl=mine)}),
    ]


@pytest.mark.parametrize("index", range(5))
def test_91_a_document_mixes_the_endpoints_of_two_servers(
    daemon: Daemon, authority: Authority, evil: Upstream, index: int
) -> None:
    """Defence: `endpoints.check_origins`: one origin, or a person has named each."""
    how, flows = mixes(authority, evil)[index]
    add(daemon, evil, flows)
    for confirmed in ([], [evil.url], [authority.origin]):
        refused = start(daemon, authority, how, confirmServers=confirmed)
        assert refused.status == 422, refused.body
        assert {one["origin"] for one in refused.json["servers"]} == {evil.url, authority.origin}
    assert not any(got.method == "POST" for got in evil.requests)
    assert b"a-secret-of-the-app" not in b"".join(got.body for got in evil.requests)


def test_91_the_page_before_consent_names_where_it_goes_and_where_the_code_goes(
    daemon: Daemon, authority: Authority, evil: Upstream
) -> None:
    """Defence: `Logins.look` tells the endpoints themselves."""
    add(daemon, evil, mixes(authority, evil)[0][1])
    begun = start(daemon, authority, confirmServers=[evil.url, authority.origin])
    assert begun.status == 200, begun.body
    page = daemon.get(urlsplit(begun.json["authorizationUrl"]).path, role=None).body.decode()
    assert authority.origin in page and evil.url in page
    assert page.index(authority.origin) < page.index(evil.url)


def test_91_metadata_of_a_server_names_the_login_page_of_another(
    daemon: Daemon, authority: Authority, evil: Upstream
) -> None:
    """The same where the source's own metadata names the server: RFC 9728, then RFC 8414."""
    add(daemon, evil, {})
    told = {"resource": evil.url, "authorization_servers": [evil.url]}
    metadata = {
        "issuer": evil.url,
        "authorization_endpoint": f"{authority.origin}/authorize",
        "token_endpoint": f"{evil.url}/token",
        "code_challenge_methods_supported": ["S256"],
    }
    evil.routes["/.well-known/oauth-protected-resource"] = as_json(told)
    evil.routes["/.well-known/oauth-authorization-server"] = as_json(metadata)
    refused = start(daemon, authority)
    assert refused.status == 422 and len(refused.json["servers"]) == 2, refused.body
    evil.routes["/.well-known/oauth-authorization-server"] = as_json(
        {**metadata, "authorization_endpoint": f"{evil.url}/a", "registration_endpoint": f"{authority.origin}/register"}
    )
    assert start(daemon, authority).status == 200
    refused = start(daemon, authority, clientId="", clientSecret="")
    assert refused.status == 422 and refused.json["servers"][-1]["use"] == "registration", refused.body


@pytest.fixture
def provider() -> Iterator[Upstream]:
    """A provider at which people have logged in before."""
    with serving() as server:
        server.otherwise = as_json({"access_token": "of-the-provider", "token_type": "Bearer", "expires_in": 3600})
        yield server


def log_in(who: Caller, provider: Upstream, **body: Any) -> Answer:
    """As far as the answer that comes back; or the refusal to start."""
    given = {"source": "mix91", "allowServer": provider.url, "scope": "actor", **CLIENT, **body}
    begun = who.post("/v1/connections/oauth/start", given)
    if begun.status != 200:
        return begun
    page, headers = begun.json["authorizationUrl"], {}
    if "set-cookie" in begun.headers:
        headers = with_cookie(begun)
    else:
        gone = who.daemon.get(f"{urlsplit(page).path}/go", role=None)
        page, headers = gone.headers["location"], with_cookie(gone)
    state = dict(parse_qsl(urlsplit(page).query))["state"]
    return who.daemon.get(f"/oauth/callback?state={state}&code=x", role=None, headers=headers)


@pytest.mark.parametrize("use", ["tokenUrl", "refreshUrl", "authorizationUrl"])
def test_91_logins_at_one_server_and_at_another_confirm_no_login_at_both(
    daemon: Daemon, evil: Upstream, provider: Upstream, use: str
) -> None:
    """Defence: `Logins._confirm_origins`: servers count together only if an earlier login was at all of them."""
    evil.routes["/token"] = as_json({"access_token": "of-the-source", "token_type": "Bearer", "expires_in": 3600})

    def flow_at(server: Upstream) -> dict[str, str]:
        return {"authorizationUrl": f"{server.url}/login", "tokenUrl": f"{server.url}/token"}

    add(daemon, evil, {"authorizationCode": flow(**flow_at(provider))})
    mine = identities.signed_in(daemon)
    for server in (provider, evil):
        evil.routes["/openapi.json"] = as_json(document_of(evil, {"authorizationCode": flow(**flow_at(server))}))
        assert daemon.post("/v1/sources/mix91/refresh").status == 200
        assert log_in(mine, provider, name=f"at-{urlsplit(server.url).port}").status == 200
    mixed = flow_at(provider) | {use: f"{evil.url}/{use}"}
    evil.routes["/openapi.json"] = as_json(document_of(evil, {"authorizationCode": flow(**mixed)}))
    assert daemon.post("/v1/sources/mix91/refresh").status == 200
    refused = log_in(mine, provider)
    assert refused.status == 422, refused.body
    assert {one["origin"] for one in refused.json["servers"]} == {evil.url, provider.url}


def test_91_what_one_person_confirmed_is_asked_of_another(daemon: Daemon, evil: Upstream, provider: Upstream) -> None:
    mixed = {"authorizationUrl": f"{provider.url}/login", "tokenUrl": f"{evil.url}/token"}
    evil.routes["/token"] = as_json({"access_token": "of-the-source", "token_type": "Bearer", "expires_in": 3600})
    add(daemon, evil, {"authorizationCode": flow(**mixed)})
    mine, other = identities.signed_in(daemon), identities.invite(daemon, "admin")
    assert log_in(mine, provider).status == 422
    assert log_in(mine, provider, confirmServers=[evil.url, provider.url]).status == 200
    assert log_in(mine, provider, name="again").status == 200
    for scope in ("actor", "workspace"):
        assert log_in(other, provider, scope=scope).status == 422


def test_91_an_answer_that_names_another_issuer(daemon: Daemon, authority: Authority, evil: Upstream) -> None:
    """Defence: `flow.is_from`: an `iss` counts also where only a document speaks of the server."""
    flows = {"authorizationCode": flow(authorizationUrl=f"{evil.url}/login", tokenUrl=f"{evil.url}/token")}
    add(daemon, evil, flows)
    for issuer in (authority.origin, "https://accounts.example", "nonsense", ""):
        link = urlsplit(start(daemon, authority).json["authorizationUrl"]).path
        gone = daemon.get(f"{link}/go", role=None)
        state = dict(parse_qsl(urlsplit(gone.headers["location"]).query))["state"]
        back = daemon.get(f"/oauth/callback?state={state}&code=x&iss={issuer}", role=None, headers=with_cookie(gone))
        assert back.status == 400 and b"not from" in back.body, back.body
    assert "/token" not in {got.target for got in evil.requests}


def test_91_a_login_at_one_server_asks_nothing(daemon: Daemon, authority: Authority, evil: Upstream) -> None:
    page, token = f"{authority.origin}/authorize", f"{authority.origin}/token"
    add(daemon, evil, {"authorizationCode": flow(authorizationUrl=page, tokenUrl=token)})
    begun = start(daemon, authority)
    assert begun.status == 200, begun.body
    gone = daemon.get(f"{urlsplit(begun.json['authorizationUrl']).path}/go", role=None)
    assert gone.headers["location"].startswith(page)
    assert visit(gone.headers["location"]).status in (302, 303, 400, 401)


def test_91_a_device_is_sent_to_type_its_code_in_elsewhere(
    daemon: Daemon, authority: Authority, evil: Upstream
) -> None:
    """Defence: `device.begin` checks the page that the server names as well."""
    flows = flow(deviceAuthorizationUrl=f"{evil.url}/device", tokenUrl=f"{evil.url}/token")
    add(daemon, evil, {"deviceAuthorization": flows})
    answer = {"device_code": "d", "user_code": "AB-CD", "expires_in": 600}
    for page in (
        {"verification_uri": f"{authority.origin}/device"},
        {"verification_uri": f"{evil.url}/x", "verification_uri_complete": f"{authority.origin}/device?code=AB"},
    ):
        evil.routes["/device"] = as_json({**answer, **page})
        refused = start(daemon, authority, "device")
        assert refused.status == 422 and authority.origin in json.dumps(refused.json["servers"]), refused.body
    evil.routes["/device"] = as_json({**answer, "verification_uri": f"{evil.url}/x"})
    assert start(daemon, authority, "device").status == 200
