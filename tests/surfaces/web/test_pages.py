"""The other pages: connect, look, try, run, make policies."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon, running_upstream
from tests.surfaces.web.conftest import Open


def test_a_source_is_probed_reviewed_and_connected(visit: Open, daemon: Daemon) -> None:
    with running_upstream() as (address, _):
        page = visit("/sources/add")
        page.get_by_role("textbox", name="Address").fill(f"{address}/openapi.json")
        page.get_by_role("button", name="Look").click()
        expect(page.get_by_role("heading", name="2. Is this it?")).to_be_visible()
        expect(page.locator("form").last).to_contain_text("openapi")
        page.get_by_label("Namespace").fill("added")
        page.get_by_role("button", name="Connect").click()
        page.wait_for_url("**/sources/added*")
        expect(page.get_by_text("createThing")).to_be_visible()
    page.goto("/sources/added/edit")
    page.get_by_role("button", name="Disconnect…").click()
    page.get_by_role("dialog").get_by_role("button", name="Disconnect").click()
    page.wait_for_url(f"{daemon.url}/")
    assert daemon.get("/v1/sources/added").status == 404


def test_an_address_with_nothing_behind_it_says_what_was_asked_and_what_to_try(visit: Open) -> None:
    page = visit("/sources/add")
    page.get_by_role("textbox", name="Address").fill("http://127.0.0.1:9/openapi.json")
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_text("GET http://127.0.0.1:9/openapi.json")).to_be_visible()


def test_ten_thousand_tools_are_searched_while_typing_and_few_are_in_the_document(visit: Open, many: str) -> None:
    page = visit(f"/sources/{many}")
    tools = page.get_by_role("list", name="Tools")
    expect(tools.get_by_role("listitem").first).to_be_visible()
    expect(page.get_by_text("10,000 tools")).to_be_visible()
    page.get_by_role("button", name="group0", exact=False).first.wait_for()
    assert tools.get_by_role("listitem").count() < 100
    box = tools.locator("xpath=..")
    box.evaluate("element => element.scrollTo(0, element.scrollHeight / 2)")
    expect(tools.get_by_role("listitem").first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("get item number 7777")
    expect(tools.get_by_role("button", name="many.group77.getItem7777")).to_be_visible()
    assert "q=get" in page.url
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "q=" not in url)


def test_a_tool_is_tried_through_the_normal_road(visit: Open, daemon: Daemon, shop: list[Any]) -> None:
    page = visit("/sources/shop?tool=shop.things.createThing&tab=try")
    page.get_by_label("name", exact=True).fill("table")
    page.get_by_role("button", name="Run").click()
    page.get_by_role("link", name="Open the full request").click()
    page.get_by_role("button", name="Allow for this execution").click()
    expect(page.get_by_role("article")).to_contain_text("for this execution")
    wait_for(lambda: {"name": "table"} in shop)
