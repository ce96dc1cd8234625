"""A browser comes in by a link that works once, and stays by a cookie that no script can read."""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa
from playwright.sync_api import expect

from executor.storage.tables.access import sign_in_links
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.people import guest, invitation


def link(daemon: Daemon) -> str:
    return str(daemon.post("/v1/auth/links").json["url"])


def test_a_link_signs_in_once_and_its_token_leaves_the_address_bar(visit: Open, daemon: Daemon) -> None:
    address = link(daemon)
    page = visit(address, signed_in=False)
    page.wait_for_url(f"{daemon.url}/")
    expect(page.get_by_role("heading", name="Sources")).to_be_visible()
    assert page.evaluate("document.cookie") == ""
    again = visit(address, signed_in=False)
    expect(again.get_by_role("alert")).to_contain_text("this link was already used")
    assert "#" not in again.url


def test_a_link_that_has_expired_or_is_not_whole_says_so(visit: Open, daemon: Daemon) -> None:
    address = link(daemon)
    daemon.run(daemon.executor.database.write(lambda c: c.execute(sa.update(sign_in_links).values(expires_at=1))))
    page = visit(address, signed_in=False)
    expect(page.get_by_role("alert")).to_contain_text("this link has expired")
    expect(page.get_by_role("alert")).to_contain_text("executor web")
    page.get_by_label("Or paste the link").fill(address[:-3])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("this link is not valid")


def test_anyone_who_is_not_signed_in_learns_how_and_comes_back_to_where_they_were(visit: Open, daemon: Daemon) -> None:
    page = visit("/executions?status=failed", signed_in=False)
    expect(page.get_by_text("executor web", exact=True)).to_be_visible()
    page.get_by_label("Or paste the link").fill(link(daemon))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/executions?status=failed")


def test_after_signing_in_one_is_not_sent_to_another_site(visit: Open, daemon: Daemon) -> None:
    for target in ("//evil.example/", "https://evil.example/", "/\\evil.example", "/.//evil.example/"):
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


def test_anyone_who_accepts_an_invitation_sees_only_what_their_role_allows(visit: Open, daemon: Daemon) -> None:
    """In the browser of somebody who was here before as another: nothing of theirs is left."""
    before = visit("/")
    expect(before.get_by_role("heading", name="Sources")).to_be_visible()
    before.evaluate("for (const kept of [localStorage, sessionStorage]) kept.setItem('executor.workspace', 'ws_other')")
    before.context.clear_cookies()
    address = invitation(daemon, "viewer")
    page = visit(address, within=before.context)
    page.get_by_label("Your name").fill("Vera")
    page.get_by_role("button", name="Accept the invitation").click()
    expect(page.get_by_role("heading", level=1, name="Sources")).to_be_visible()
    assert "#" not in page.url
    who = page.request.get("/v1/auth/whoami").json()
    assert (who["name"], who["role"]) == ("Vera", "viewer")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("rule")
    expect(page.get_by_role("option").filter(has_text="Add or edit a policy")).to_have_count(0)
    page.keyboard.press("Escape")
    again = visit(address, signed_in=False)
    again.get_by_role("button", name="Accept the invitation").click()
    expect(again.get_by_role("alert")).to_contain_text("was used or has expired")


def test_a_session_that_was_ended_elsewhere_leads_to_the_sign_in_and_back(visit: Open, daemon: Daemon) -> None:
    page = guest(visit, daemon, "member", "Mia")
    page.goto("/policies")
    expect(page.get_by_role("heading", level=1, name="Policies")).to_be_visible()
    page.request.post("/v1/auth/sign-out", headers={"Origin": daemon.url})
    # Its live stream ends too: the page may be on its way before anything is clicked.
    page.evaluate("""document.querySelector('a[href="/executions"]')?.click()""")
    page.wait_for_url(re.compile(r"/sign-in\?to=.*(executions|policies)"))
