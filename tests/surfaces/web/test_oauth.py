"""A call that needs a login: from the paused execution to its page, to the provider, back, and on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.sources.upstream import as_json, serving
from tests.support.loopback import Authority, Service, listening
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open, check_request

CODE = "return await tools.logged.me.getMe({})"
LOGIN = b"""<!doctype html><title>Provider</title><h1>Sign in to Provider</h1>
<form method="get"><button name="consent" value="yes">Allow Executor</button></form>"""


@pytest.fixture
def provider(daemon: Daemon) -> Iterator[Authority]:
    """A strict authorization server with a page of its own in front, and a service that takes its tokens."""
    with (
        listening(Authority) as authority,
        listening(lambda origin: Service(origin, authority)) as service,
    ):
        with_login_page(authority)
        added = daemon.post("/v1/sources", {"location": f"{service.origin}/openapi.json", "namespace": "logged"})
        assert added.status == 201, added.body
        yield authority
        daemon.request("DELETE", "/v1/sources/logged")


def with_login_page(authority: Authority) -> None:
    """The first visit is kept and answered with a form; the form leads back to what was kept."""
    kept: dict[str, str] = {}

    def hook(path: str, data: dict[str, str]) -> Any:
        if path != "/authorize":
            return None
        if "consent" in data:
            data.pop("consent")
            data |= kept
            return None
        kept.update(data)
        return 200, LOGIN, {"Content-Type": "text/html"}

    authority.hook = hook


@pytest.fixture
def allow_provider(monkeypatch: pytest.MonkeyPatch, provider: Authority) -> None:
    """Of all foreign hosts exactly the provider's may be asked."""

    def check(request: Any, daemon: Daemon, complaints: list[str]) -> None:
        if not request.url.startswith(f"{provider.origin}/"):
            check_request(request, daemon, complaints)

    monkeypatch.setattr("tests.surfaces.web.conftest.check_request", check)


def test_a_paused_call_gets_its_login_at_the_provider_and_the_execution_goes_on(
    visit: Open, daemon: Daemon, provider: Authority, allow_provider: None
) -> None:
    view = daemon.execute(CODE)
    [approval] = view["interactions"]
    assert approval["kind"] == "oauth"
    page = visit(f"/approvals/{approval['id']}")
    page.get_by_role("link", name="Sign in at the service").click()
    page.wait_for_url(f"**/connect/{approval['id']}")
    expect(page.get_by_text("It requests")).to_contain_text("read")
    page.get_by_role("button", name="Sign in at the service").click()
    expect(page.get_by_role("alert")).to_contain_text("is on a private network")
    assert provider.ledger.asked["/authorize"] == 0
    page.get_by_label(f"I know {provider.origin}").check()
    page.get_by_role("button", name="Sign in at the service").click()
    page.wait_for_url(f"{provider.origin}/authorize?**")
    page.get_by_role("button", name="Allow Executor").click()
    page.wait_for_url(f"{daemon.url}/oauth/callback?**")
    expect(page.get_by_role("heading", name="Connected")).to_be_visible()
    page.get_by_role("link", name="Back to Executor").click()
    page.wait_for_url(f"**/connect/{approval['id']}")
    expect(page.get_by_text("Credential saved. The execution is resuming")).to_be_visible()
    ended = daemon.get(f"/v1/executions/{view['executionId']}?wait=60").json
    assert (ended["status"], ended["result"]["name"]) == ("completed", "Ann")
    page.get_by_role("link", name="See the execution").click()
    expect(page.get_by_role("region", name="Result")).to_contain_text("Ann")
    [token] = provider.ledger.tokens
    assert token.access not in page.content()


def test_a_call_that_needs_a_login_can_be_denied_instead(visit: Open, daemon: Daemon, provider: Authority) -> None:
    view = daemon.execute(CODE)
    page = visit(f"/connect/{view['interactions'][0]['id']}")
    page.get_by_role("link", name="deny the call").click()
    page.get_by_role("button", name="Deny…").click()
    page.keyboard.type("not with this account")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("not with this account")
    ended = daemon.get(f"/v1/executions/{view['executionId']}?wait=60").json
    assert ended["status"] == "failed"
    assert "not with this account" in ended["error"]["message"]


def test_a_login_that_is_spread_over_two_servers_needs_a_word_for_each_by_name(
    visit: Open, daemon: Daemon, provider: Authority, allow_provider: None
) -> None:
    with serving() as other:
        flows = {
            "authorizationCode": {
                "scopes": {"read": "all"},
                "authorizationUrl": f"{provider.origin}/authorize",
                "tokenUrl": f"{other.url}/token",
            }
        }
        document = {
            "openapi": "3.1.0",
            "info": {"title": "Spread", "version": "1"},
            "servers": [{"url": other.url}],
            "security": [{"login": ["read"]}],
            "components": {"securitySchemes": {"login": {"type": "oauth2", "flows": flows}}},
            "paths": {"/me": {"get": {"operationId": "me", "tags": ["use"], "responses": {"200": {}}}}},
        }
        other.otherwise = as_json({"error": "nothing"}, 404)
        other.routes["/openapi.json"] = as_json(document)
        added = daemon.post("/v1/sources", {"location": f"{other.url}/openapi.json", "namespace": "spread"})
        assert added.status == 201, added.body
        try:
            [approval] = daemon.execute("return await tools.spread.use.me({})")["interactions"]
            page = visit(f"/connect/{approval['id']}")
            page.get_by_role("button", name="Use your own client").click()
            page.get_by_label("Client ID").fill("known-app")
            page.get_by_label("Client secret").fill("a-secret-of-the-app")
            page.get_by_role("button", name="Sign in at the service").click()
            page.get_by_label(f"I know {provider.origin}").check()
            page.get_by_role("button", name="Sign in at the service").click()
            login, token = (page.get_by_role("checkbox", name=one) for one in (provider.origin, other.url))
            expect(token).not_to_be_checked()
            login.check()
            page.get_by_role("button", name="Sign in at the service").click()
            expect(page.get_by_role("alert")).to_contain_text(other.url)
            assert provider.ledger.asked["/authorize"] == 0
            token.check()
            page.get_by_role("button", name="Sign in at the service").click()
            page.wait_for_url(f"{provider.origin}/authorize?**")
        finally:
            daemon.request("DELETE", "/v1/sources/spread")
