"""Signing in at an identity provider, in a real browser and at a real OpenID Connect server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.sign_in_browser import running_daemon_with
from tests.support.token_issuer import TokenIssuer, issuing
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open

BUTTON = "Sign in with your identity provider"


@pytest.fixture(scope="module")
def authority() -> Iterator[TokenIssuer]:
    with issuing("/tenant") as authority:
        yield authority


@pytest.fixture(scope="module")
def daemon(authority: TokenIssuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon_with(authority, tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture
def also_asked(authority: TokenIssuer) -> tuple[str, ...]:
    """The provider, and nobody else."""
    return (f"{authority.issuer}/authorize?",)


def register_person(authority: TokenIssuer, daemon: Daemon, sub: str, role: str = "") -> None:
    email = f"{sub}@example.org"
    authority.person = {"sub": sub, "name": sub.title(), "email": email, "email_verified": True}
    if role:
        assert daemon.post("/v1/invitations", {"role": role, "email": email}).status == 201


def test_an_invited_person_signs_in_at_the_provider_and_comes_back_to_where_they_were(
    visit: Open, daemon: Daemon, authority: TokenIssuer
) -> None:
    register_person(authority, daemon, "ann", "viewer")
    page = visit("/executions?status=failed", signed_in=False)
    expect(page.get_by_text(authority.issuer.partition("://")[2].partition("/")[0])).to_be_visible()
    page.get_by_role("link", name=BUTTON).click()
    page.wait_for_url("**/executions?status=failed")
    expect(page.get_by_role("heading", level=1, name="Executions")).to_be_visible()
    expect(page.get_by_text("Live", exact=True).first).to_be_visible()
    who = page.request.get("/v1/auth/whoami").json()
    assert (who["name"], who["role"], who["via"]) == ("Ann", "viewer", "browser")
    page.goto("/settings?tab=sessions")
    expect(page.get_by_text(authority.issuer, exact=True)).to_be_visible()
    page.goto("/secrets")
    expect(page.get_by_role("button", name="Add a secret")).to_have_count(0)


def test_a_stranger_learns_why_not_and_finds_the_way_back(visit: Open, daemon: Daemon, authority: TokenIssuer) -> None:
    register_person(authority, daemon, "cal")
    page = visit("/sign-in", signed_in=False)
    page.get_by_role("link", name=BUTTON).click()
    expect(page.get_by_role("heading", name="Not signed in")).to_be_visible()
    expect(page.locator("body")).to_contain_text("ask an owner to invite")
    page.get_by_role("link", name="Back to sign-in").click()
    expect(page.get_by_role("link", name=BUTTON)).to_be_visible()


def test_the_way_back_from_the_provider_leads_to_no_other_site(
    visit: Open, daemon: Daemon, authority: TokenIssuer
) -> None:
    register_person(authority, daemon, "dora", "member")
    for target in ("//evil.example/", "https://evil.example/", "/\\evil.example"):
        page = visit(f"/sign-in?to={target}", signed_in=False)
        page.get_by_role("link", name=BUTTON).click()
        page.wait_for_url(f"{daemon.url}/")
    forged: Any = visit("/v1/auth/oidc/start?return_to=https://evil.example/", signed_in=False)
    assert forged.url.startswith(daemon.url)
