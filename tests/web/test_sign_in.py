"""A browser comes in by a link that works once, and stays by a cookie that no script can read."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.api.serving import Daemon
from tests.web.conftest import Open


def link(daemon: Daemon) -> str:
    return str(daemon.post("/v1/auth/links").json["url"])


def test_a_link_signs_in_once_and_its_token_leaves_the_address_bar(visit: Open, daemon: Daemon) -> None:
    address = link(daemon)
    page = visit(address, signed_in=False)
    page.wait_for_url(f"{daemon.url}/")
    expect(page.get_by_role("heading", name="Sources")).to_be_visible()
    assert page.evaluate("document.cookie") == ""
    again = visit(address, signed_in=False)
    expect(again.get_by_role("alert")).to_contain_text("was used or has expired")
    assert "#" not in again.url


def test_whoever_is_not_signed_in_is_told_how_and_comes_back_to_where_they_were(visit: Open, daemon: Daemon) -> None:
    page = visit("/executions?status=failed", signed_in=False)
    expect(page.get_by_text("executor web", exact=True)).to_be_visible()
    page.get_by_label("Or paste the link").fill(link(daemon))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/executions?status=failed")


def test_after_signing_in_one_is_not_sent_to_another_site(visit: Open, daemon: Daemon) -> None:
    for target in ("//evil.example/", "https://evil.example/", "/\\evil.example"):
        page = visit(f"/sign-in?to={target}", signed_in=False)
        page.get_by_label("Or paste the link").fill(link(daemon))
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{daemon.url}/")


def test_signing_out_ends_the_session(visit: Open) -> None:
    page = visit("/")
    page.get_by_role("button", name="Account and appearance").first.click()
    page.get_by_role("menuitem", name="Sign out").click()
    page.wait_for_url("**/sign-in*")
    answer: Any = page.request.get("/v1/auth/whoami")
    assert answer.status == 401
