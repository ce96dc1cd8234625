"""What keeps the eye at rest: one left edge, few places on a phone, and a dialog that begins at its title."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.surfaces.web.conftest import Open

PAGES = (
    "/",
    "/executions",
    "/approvals",
    "/policies",
    "/toolkits",
    "/secrets",
    "/playground",
    "/audit",
    "/settings",
    "/sources/add",
)
LEFT = "document.querySelector('h1').getBoundingClientRect().left"


def test_every_page_begins_at_the_same_left_edge(visit: Open, shop: list[Any]) -> None:
    page = visit("/sources/shop", viewport={"width": 1920, "height": 900})
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    edges = {"/sources/shop": page.evaluate(LEFT)}
    for path in PAGES:
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        edges[path] = page.evaluate(LEFT)
    assert len(set(edges.values())) == 1, edges


def test_on_a_phone_the_rarer_places_are_behind_one_button(visit: Open) -> None:
    page = visit("/", viewport={"width": 380, "height": 780})
    places = page.get_by_role("navigation", name="Main")
    expect(places.get_by_role("link")).to_have_count(5)
    places.get_by_role("button", name="More").click()
    expect(page.get_by_role("menuitem")).to_have_text(
        ["Tools", "Toolkits", "Secrets", "Playground", "Audit", "Settings"]
    )
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Tools")).to_be_visible()
    expect(places.get_by_role("button", name="More")).to_have_attribute("aria-current", "page")


def test_a_dialog_begins_at_its_title_and_not_at_the_way_out(visit: Open) -> None:
    page = visit("/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keyboard")).to_be_focused()
