"""What stays while pages come and go: navigation, palette, keys, theme, the live connection."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open, sign_in
from tests.surfaces.web.people import invitation


def focused_text(page: Any) -> str:
    return str(page.evaluate("document.activeElement.textContent"))


def palette(page: Any, text: str) -> Any:
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill(text)
    return page.get_by_role("listbox", name="Results")


def test_the_palette_finds_pages_tools_approvals_and_executions(visit: Open, paused: Any) -> None:
    page = visit("/")
    expect(page.get_by_role("heading", name="Sources")).to_be_visible()
    found = palette(page, "create thing")
    expect(found.get_by_text("Tools", exact=True)).to_be_visible()
    expect(found.get_by_role("option", selected=True)).to_contain_text("shop.things.createThing")
    page.keyboard.press("Enter")
    page.wait_for_url("**/sources/shop?tool=shop.things.createThing")
    found = palette(page, paused["executionId"])
    expect(found.get_by_role("option").first).to_contain_text(paused["executionId"])
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/executions/{paused['executionId']}*")
    found = palette(page, "")
    expect(found.get_by_text("Recent")).to_be_visible()
    expect(found.get_by_role("option").first).to_contain_text(paused["executionId"])
    page.keyboard.press("ArrowDown")
    expect(found.get_by_role("option", selected=True)).to_contain_text("shop.things.createThing")
    expect(found.get_by_role("option").filter(has_text='name: "lamp"').first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_anyone_who_comes_to_a_browser_after_someone_else_does_not_learn_what_they_looked_at(
    visit: Open, daemon: Daemon, paused: Any
) -> None:
    """`store` of shell/recent.ts: what is remembered belongs to the person, not to the browser."""
    before = visit(f"/executions/{paused['executionId']}")
    expect(before.get_by_role("heading", level=1)).to_be_visible()
    expect(palette(before, "").get_by_text("Recent")).to_be_visible()
    before.context.clear_cookies()
    page = visit(invitation(daemon, "viewer"), within=before.context)
    page.get_by_label("Your name").fill("Next")
    page.get_by_role("button", name="Accept the invitation").click()
    expect(page.get_by_role("heading", level=1, name="Sources")).to_be_visible()
    found = palette(page, "")
    expect(found.get_by_text("Pages")).to_be_visible()
    expect(found.get_by_text("Recent")).to_have_count(0)


def test_a_search_that_was_typed_over_is_given_up(visit: Open, shop: list[Any]) -> None:
    page = visit("/")
    expect(page.get_by_role("heading", name="Sources")).to_be_visible()
    page.route("**/v1/tools/search?query=things&*", lambda route: None)
    palette(page, "things")
    with page.expect_event("requestfailed", lambda request: "query=things&" in request.url):
        page.get_by_role("combobox").fill("list")
    expect(page.get_by_role("listbox").get_by_text("shop.things.listThings", exact=True)).to_be_visible()


def test_acts_of_the_palette_are_done_at_once(visit: Open) -> None:
    page = visit("/", color_scheme="light")
    expect(page.get_by_role("heading", name="Sources")).to_be_visible()
    palette(page, "toggle")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    palette(page, "add source")
    page.keyboard.press("Enter")
    page.wait_for_url("**/sources/add")
    palette(page, "show keyboard shortcuts")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()


def test_two_keys_lead_to_every_page_and_the_help_names_them_all(visit: Open) -> None:
    page = visit("/")
    expect(page.get_by_role("heading", name="Sources")).to_be_visible()
    page.keyboard.press("?")
    help_text = page.get_by_role("dialog", name="Keyboard")
    goes = help_text.get_by_role("region", name="Go to").locator("dl > div")
    titles = [goes.nth(at).locator("dd").inner_text() for at in range(goes.count())]
    keys = [goes.nth(at).locator("kbd").last.inner_text().lower() for at in range(goes.count())]
    expect(help_text.get_by_role("region", name="Approvals")).to_contain_text("Allow once")
    page.keyboard.press("Escape")
    assert len(titles) >= 7
    for key, title in zip(keys, titles, strict=True):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page.get_by_role("heading", level=1, name=title)).to_be_visible()
        expect(page).to_have_title(re.compile(f"{title} · Executor"))
    page.keyboard.press("a")  # without `g` before it, no page
    expect(page.get_by_role("heading", level=1, name=titles[-1])).to_be_visible()


def test_another_page_takes_the_focus_to_its_heading(visit: Open) -> None:
    page = visit("/")
    expect(page.get_by_role("heading", name="Sources")).to_be_visible()
    page.keyboard.press("Tab")
    assert focused_text(page) == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.get_by_role("link", name="Secrets").first.click()
    expect(page.get_by_role("heading", level=1, name="Secrets")).to_be_focused()
    page.get_by_role("link", name="Settings").first.click()
    expect(page.get_by_role("heading", level=1, name="Settings")).to_be_focused()


def test_a_page_that_breaks_leaves_the_way_to_the_others(browser: Any, daemon: Daemon) -> None:
    """Not with `visit`: here the complaint in the console is wanted."""
    context = browser.new_context(base_url=daemon.url)
    sign_in(context, daemon)
    page = context.new_page()
    page.goto("/")
    expect(page.get_by_role("heading", name="Sources")).to_be_visible()
    page.route("**/v1/secrets", lambda route: route.fulfill(status=200, json={"items": None}))
    page.get_by_role("link", name="Secrets").first.click()
    expect(page.get_by_role("heading", level=1, name="This page crashed")).to_be_visible()
    page.get_by_role("link", name="Policies").first.click()
    expect(page.get_by_role("heading", level=1, name="Policies")).to_be_visible()
    page.goto("/no/such/page")
    expect(page.get_by_role("heading", level=1, name="Page not found")).to_be_visible()
    page.goto("/sources")
    expect(page.get_by_role("heading", level=1, name="Sources")).to_be_visible()
    expect(page.get_by_role("navigation", name="Main").first).to_be_visible()
    context.close()


def test_the_dark_page_is_dark_before_it_is_first_painted(visit: Open) -> None:
    page = visit("/settings?tab=appearance", color_scheme="dark")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.get_by_role("radio", name="Light").check(force=True)
    page.get_by_role("radio", name="Compact").check(force=True)
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.route("**/assets/*.js", lambda route: route.abort())
    page.goto("/")
    assert page.evaluate("({...document.documentElement.dataset})") == {"theme": "light", "density": "compact"}


def test_a_lost_connection_is_shown_with_how_long_and_mended(visit: Open, daemon: Daemon, shop: list[Any]) -> None:
    page = visit("/approvals")
    expect(page.get_by_text("Live", exact=True).first).to_be_visible()
    page.context.set_offline(True)
    daemon.loop.call_soon_threadsafe(end_streams, daemon)
    expect(page.get_by_text("Reconnecting").first).to_be_visible(timeout=60_000)
    expect(page.get_by_text(re.compile(r"for \d+ s")).first).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_text("Live", exact=True).first).to_be_visible(timeout=30_000)


def end_streams(daemon: Daemon) -> None:
    """As a restart of the daemon would: every open stream ends."""
    held = daemon.app.state.streams
    held.closed.set()
    daemon.loop.call_soon(held.closed.clear)


def test_signing_out_in_one_tab_signs_out_the_others(visit: Open) -> None:
    first = visit("/executions")
    second = visit("/policies", within=first.context)
    expect(second.get_by_role("heading", name="Policies", level=1)).to_be_visible()
    first.get_by_role("button", name="Account and appearance").first.click()
    first.get_by_role("menuitem", name="Sign out").click()
    first.wait_for_url("**/sign-in*")
    second.wait_for_url("**/sign-in?to=*policies")
    assert first.request.get("/v1/auth/whoami").status == 401


def test_leaving_a_page_with_something_unsaved_is_asked_about(visit: Open) -> None:
    page = visit("/settings")
    asked: list[str] = []
    page.get_by_label("Name of the workspace").fill("half a na")
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page.get_by_role("link", name="Secrets").first.click()
    expect(page.get_by_label("Name of the workspace")).to_have_value("half a na")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("link", name="Secrets").first.click()
    expect(page.get_by_role("heading", level=1, name="Secrets")).to_be_visible()
    assert asked == ["Your changes are not saved. Leave anyway?"]
