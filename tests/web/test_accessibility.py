"""No page has a serious fault that axe can find, in light and dark, wide and narrow; nothing needs a mouse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.api.serving import Daemon
from tests.web.conftest import Open

PAGES = (
    "/",
    "/approvals",
    "/approvals/{question}",
    "/executions",
    "/executions/{execution}",
    "/executions/{execution}?tab=events",
    "/executions/{execution}?tab=calls&call=1",
    "/executions?status=failed,paused&tool=shop",
    "/audit",
    "/sources/shop?tool=shop.things.createThing",
    "/sources/shop?tool=shop.things.createThing&tab=try",
    "/sources/shop/edit",
    "/sources/add",
    "/policies",
    "/secrets",
    "/playground",
    "/settings",
    "/settings?tab=people",
    "/settings?tab=keys",
    "/settings?tab=sessions",
    "/settings?tab=appearance",
    "/settings?tab=about",
)
RUN = "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations)"


def faults(page: Any, script: Path) -> list[str]:
    """The content security policy keeps scripts of a page out; the debugger's are not the page's."""
    page.evaluate(script.read_text(encoding="utf-8"))
    found = page.evaluate(RUN)
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {[node['html'][:160] for node in one['nodes'][:3]]}" for one in serious]


def settled(page: Any) -> None:
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_text("Loading", exact=True)).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit: Open, paused: Any, axe_script: Path, scheme: str) -> None:
    names = {"question": paused["interactions"][0]["id"], "execution": paused["executionId"]}
    page = visit("/", color_scheme=scheme)
    found = {}
    for path in PAGES:
        page.goto(path.format(**names))
        settled(page)
        if wrong := faults(page, axe_script):
            found[path] = wrong
    assert found == {}


def test_axe_finds_nothing_serious_on_the_way_in(visit: Open, axe_script: Path) -> None:
    for path in ("/sign-in", "/invitation#token", "/nowhere/at/all"):
        page = visit(path, signed_in=False)
        settled(page)
        assert faults(page, axe_script) == [], path


def test_dialogs_hold_the_focus_and_give_it_back(visit: Open, axe_script: Path) -> None:
    page = visit("/policies")
    page.get_by_role("button", name="Add a rule").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    assert faults(page, axe_script) == []
    for _ in range(20):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("button", name="Add a rule")).to_be_focused()


def test_no_page_scrolls_sideways_on_a_phone(visit: Open, paused: Any, daemon: Daemon) -> None:
    names = {"question": paused["interactions"][0]["id"], "execution": paused["executionId"]}
    page = visit("/", viewport={"width": 380, "height": 740})
    wide = []
    for path in PAGES:
        page.goto(path.format(**names))
        settled(page)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(path)
    assert wide == []
