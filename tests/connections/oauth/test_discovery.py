"""Where a source's authorization server is found, and what of its documents is believed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from executor.connections.oauth import discovery, metadata
from executor.connections.oauth.discovery import Found
from executor.connections.oauth.http import HttpClient
from executor.errors import InvalidRequest, OAuthFailed
from executor.model.source import Source
from tests.support.login_harness import LoginHarness
from tests.support.loopback import Answer


async def discover(harness: LoginHarness, source: Source | None = None) -> Found:
    origins = frozenset({harness.service.origin, harness.authority.origin})
    return await discovery.discover(HttpClient(harness.egress), source or harness.source, "", origins)


def with_auth(source: Source, details: dict[str, Any], kind: str = "oauth2") -> Source:
    auth = [{"name": "login", "type": kind, "description": "", "details": details}]
    return replace(source, config={**source.config, "auth": auth})


def test_well_known_addresses_respect_the_path() -> None:
    assert metadata.server_addresses("https://as.example") == [
        "https://as.example/.well-known/oauth-authorization-server",
        "https://as.example/.well-known/openid-configuration",
    ]
    assert metadata.server_addresses("https://as.example/tenant/1") == [
        "https://as.example/.well-known/oauth-authorization-server/tenant/1",
        "https://as.example/.well-known/openid-configuration/tenant/1",
        "https://as.example/tenant/1/.well-known/openid-configuration",
    ]
    assert metadata.resource_addresses("https://api.example/v1/mcp") == [
        "https://api.example/.well-known/oauth-protected-resource/v1/mcp",
        "https://api.example/.well-known/oauth-protected-resource",
    ]


@pytest.mark.parametrize(
    ("resource", "url", "is_covered"),
    [
        ("https://a.example/api", "https://a.example/api", True),
        ("https://a.example/api", "https://a.example/api/v1", True),
        ("https://a.example", "https://a.example/api", True),
        ("https://a.example/", "https://a.example:443/api", True),
        ("https://a.example/ap", "https://a.example/api", False),
        ("https://a.example/api/v1", "https://a.example/api", False),
        ("http://a.example/api", "https://a.example/api", False),
        ("https://b.example/api", "https://a.example/api", False),
        ("https://a.example:8443/api", "https://a.example/api", False),
        ("javascript:alert(1)", "https://a.example/api", False),
    ],
)
def test_a_resource_covers_its_own_origin_and_paths_below(resource: str, url: str, is_covered: bool) -> None:
    assert metadata.covers(resource, url) is is_covered


async def test_published_metadata_of_the_resource_comes_first(harness: LoginHarness) -> None:
    harness.service.publishes = True
    found = await discover(harness)
    assert (found.server.issuer, found.resource) == (harness.authority.issuer, harness.service.resource)
    assert found.scopes == ("read", "write")


async def test_a_challenge_names_the_metadata_and_the_scopes(harness: LoginHarness) -> None:
    harness.service.publishes = True
    told = f"{harness.service.origin}/.well-known/oauth-protected-resource/api"
    found = await discover(harness, with_auth(harness.source, {"resource_metadata": told, "scope": "read"}))
    assert found.scopes == ("read",)


async def test_metadata_of_another_resource_is_refused_if_a_challenge_named_it(harness: LoginHarness) -> None:
    other = {"resource": "https://victim.example/api", "authorization_servers": [harness.authority.issuer]}
    harness.authority.hook = lambda path, data: (200, other, {}) if path == "/prm" else None
    source = with_auth(harness.source, {"resource_metadata": f"{harness.authority.origin}/prm"})
    with pytest.raises(OAuthFailed, match=r"victim\.example"):
        await discover(harness, source)


async def test_an_issuer_with_a_path_is_found_both_ways(harness: LoginHarness) -> None:
    harness.service.publishes = True
    harness.authority.path = "/tenant"
    assert (await discover(harness)).server.token_endpoint == f"{harness.authority.origin}/tenant/token"

    def openid_only(path: str, data: dict[str, str]) -> Answer | None:
        return (404, {}, {}) if path.startswith("/.well-known") else None

    harness.authority.hook = openid_only
    assert (await discover(harness)).server.token_endpoint == f"{harness.authority.origin}/tenant/token"


async def test_an_openid_address_of_the_document_is_followed(harness: LoginHarness) -> None:
    url = f"{harness.authority.issuer}/.well-known/openid-configuration"
    found = await discover(harness, with_auth(harness.source, {"openIdConnectUrl": url}, "openIdConnect"))
    assert found.server.issuer == harness.authority.issuer


async def test_endpoints_of_the_document_serve_where_nothing_is_published(harness: LoginHarness) -> None:
    harness.authority.publishes = False
    found = await discover(harness)
    assert found.server.is_declared
    assert found.server.token_endpoint == f"{harness.authority.issuer}/token"
    assert found.server.authorization_endpoint == f"{harness.authority.issuer}/authorize"
    assert found.resource == ""


async def test_metadata_that_contradicts_the_document_is_not_believed(harness: LoginHarness) -> None:
    harness.authority.metadata["token_endpoint"] = f"{harness.authority.issuer}/elsewhere"
    assert (await discover(harness)).server.is_declared


async def test_relative_addresses_of_a_document_belong_to_the_service(harness: LoginHarness) -> None:
    flows = {"clientCredentials": {"tokenUrl": "/token", "refreshUrl": "renew", "scopes": ["read"]}}
    found = await discover(harness, with_auth(harness.source, {"flows": flows}))
    assert found.server.token_endpoint == f"{harness.service.origin}/token"
    assert found.server.refresh_endpoint == f"{harness.service.origin}/renew"


async def test_an_older_mcp_server_is_its_own_authorization_server(harness: LoginHarness) -> None:
    source = Source("src_m", "w", "mcp", "m", "m", {"location": f"{harness.authority.origin}/mcp", "base_url": ""})
    found = await discover(harness, source)
    assert (found.server.issuer, found.resource) == (harness.authority.issuer, f"{harness.authority.origin}/mcp")


async def test_a_command_has_no_login(harness: LoginHarness) -> None:
    source = Source("src_c", "w", "mcp", "c", "c", {"location": "", "command": ["uvx", "x"]})
    with pytest.raises(InvalidRequest, match="not reached over HTTP"):
        await discover(harness, source)


async def test_a_source_that_says_nothing_is_reported(harness: LoginHarness) -> None:
    with pytest.raises(OAuthFailed, match="does not say where"):
        await discover(harness, replace(harness.source, config={**harness.source.config, "auth": []}))


async def test_a_server_without_metadata_is_named(harness: LoginHarness) -> None:
    harness.service.publishes, harness.authority.publishes = True, False
    with pytest.raises(OAuthFailed, match="publishes no metadata"):
        await discover(harness)


def test_scopes_stay_minimal_and_lasting_is_asked_for_only_where_offered() -> None:
    offers = metadata.Server("https://as.example", scopes=("read", "offline_access"))
    plain = metadata.Server("https://as.example", scopes=("read",))
    assert discovery.choose_scopes(Found(offers, scopes=("read", "write")), ("read",), offline=True) == (
        "read",
        "offline_access",
    )
    assert discovery.choose_scopes(Found(plain, scopes=("read", "write")), (), offline=True) == ("read", "write")
    assert discovery.choose_scopes(Found(offers), (), offline=True) == ()
    assert discovery.choose_scopes(Found(offers), ("read",), offline=False) == ("read",)
    assert discovery.choose_scopes(Found(plain), ('a"b', "ok", "x\ny"), offline=True) == ("ok",)


async def test_a_public_client_document_is_used_where_the_server_takes_it(harness: LoginHarness) -> None:
    from executor.connections.oauth.client_registration import Clients

    server = metadata.Server("https://as.example", takes_client_urls=True, registration_endpoint="https://as.example/r")
    clients = Clients(harness.database, harness.secrets, HttpClient(harness.egress), "https://executor.example/")
    client = await clients.of(harness.operator.workspace_id, server, frozenset())
    assert (client.client_id, client.kind) == ("https://executor.example/oauth/client.json", "document")
    document = clients.document()
    assert document["client_id"] == client.client_id
    assert document["redirect_uris"] == ["https://executor.example/oauth/callback"]
    local = Clients(harness.database, harness.secrets, HttpClient(harness.egress), "http://127.0.0.1:8788")
    assert local.document_url == ""
