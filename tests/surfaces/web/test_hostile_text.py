"""Text of strangers is text, in every view: no markup comes alive, and nothing invisible stays so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.web import hostile_api as strangers
from tests.surfaces.web.conftest import Open, ViewBrowser
from tests.surfaces.web.hostile_api import MARKUP
from tests.surfaces.web.views import VIEWS, View

# Whatever text of others came alive as, or stayed invisible in; the values of fields are shown to whoever typed them.
ALIVE = """() => [
    ...(window.hacked ? ["a script of theirs ran"] : []),
    ...[...document.querySelectorAll("img, iframe, object, embed, script:not([src]), base, style")].map(
        (one) => one.outerHTML.slice(0, 200)),
    ...[...document.querySelectorAll("a[href], form[action]")].filter(
        (one) => !["http:", "https:"].includes(new URL(one.href ?? one.action, location.href).protocol)).map(
        (one) => one.outerHTML.slice(0, 200)),
    ...[...document.querySelectorAll("*")].filter(
        (one) => [...one.attributes].some((attribute) => attribute.name.startsWith("on"))).map(
        (one) => one.outerHTML.slice(0, 200)),
    ...[document.body.innerText, document.title].filter(
        (text) => /[\\u200b\\u202a-\\u202e\\u2066-\\u2069\\u00ad\\u2800\\ufe0f\\u{e0101}]/u.test(text)).map(
        () => "invisible characters"),
]"""
# Views that show nothing of what strangers wrote.
PLAIN = {
    *("add", "add-credential", "add-failed", "approvals", "approval-missing", "audit-nothing", "settings"),
    *("help", "secrets", "secret", "playground-typescript", "playground-python"),
    *("settings-sessions", "settings-appearance", "settings-about", "source-missing", "execution-missing"),
    *("session-missing", "tools-filtered", "toolkit-missing"),
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("strangers")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def names(daemon: Daemon) -> Iterator[dict[str, str]]:
    with strangers.set_up(daemon) as names:
        yield names


@pytest.fixture(scope="module")
def views(browser: Any, daemon: Daemon, names: dict[str, str]) -> Iterator[ViewBrowser]:
    views = ViewBrowser(browser, daemon, names)
    yield views
    views.close()


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_no_text_of_strangers_comes_alive_in_a_view(views: ViewBrowser, view: View) -> None:
    page = views.open(view)
    if view.place == "used" and view.name not in PLAIN:
        expect(page.locator("main")).to_contain_text("<img src=x onerror=")
    assert page.evaluate(ALIVE) == []
    assert views.complaints == []


def test_what_was_denied_shows_the_reason_as_text(views: ViewBrowser, names: dict[str, str]) -> None:
    page = views.open(View("denied", "/approvals/{denied}?show=all"))
    expect(page.get_by_role("article")).to_contain_text("safe\\u{202e}gnp.exe")
    assert page.evaluate(ALIVE) == []


def test_an_execution_with_megabytes_of_text_stays_a_page(views: ViewBrowser) -> None:
    page = views.open(View("huge", "/executions/{huge}?tab=log"))
    expect(page.get_by_role("region", name="Log")).to_contain_text("WWWW")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("document.getElementsByTagName('*').length") < 3_000


def test_an_approval_shows_turned_and_invisible_characters_by_their_number(views: ViewBrowser) -> None:
    page = views.open(View("question", "/approvals/{question}"))
    approval = page.get_by_role("article")
    expect(approval).to_contain_text("pay\\u{200b}1\\u{2066}\\u{ad}00\\u{2800}\\u{fe0f}\\u{e0101}")
    expect(approval).to_contain_text(MARKUP)


def test_a_hostile_address_is_only_text(visit: Open) -> None:
    page = visit("/")
    image = "%3Cimg%20src=x%20onerror=%22window.hacked=1%22%3E"
    for path in (
        f"/sources/{image}?q=%3Cscript%3E&tool={image}",
        f"/executions/{image}?tab={image}&call={image}",
        f"/approvals/{image}?show={image}",
        f"/connect/{image}?error={image}&message={image}",
        f"/policies?path={image}&rule={image}",
        f"/playground?from={image}&language={image}&tool={image}",
        f"/settings?tab={image}",
        f"/sources/add?location=javascript:window.hacked=1&kind={image}",
    ):
        page.goto(path)
        expect(page.locator("main")).not_to_be_empty()
        expect(page.get_by_text("Loading", exact=True)).to_have_count(0)
        assert page.evaluate(ALIVE) == [], path
