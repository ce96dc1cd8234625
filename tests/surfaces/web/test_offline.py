"""Pages when nobody answers: they say so, never pass old rows off as an answer, and come back by themselves."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.test_shell import end_streams


def test_a_page_that_cannot_be_fetched_says_how_to_start_the_daemon_and_opens_when_it_is_back(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    page = visit("/executions")
    expect(page.get_by_text("Live", exact=True).first).to_be_visible()
    page.context.set_offline(True)
    daemon.loop.call_soon_threadsafe(end_streams, daemon)
    pill = page.get_by_role("status").filter(has_text="Reconnecting").first
    expect(pill).to_contain_text("executor up")
    page.get_by_role("link", name="Secrets").first.click()
    expect(page.get_by_role("heading", level=1, name="Executor is not answering")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("executor up")
    expect(page.get_by_role("navigation", name="Main").first).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_role("heading", level=1, name="Secrets")).to_be_visible()
    assert page.url.endswith("/secrets")


def test_what_happens_while_a_page_is_still_connecting_is_shown_once_it_is_connected(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    page = visit("/executions")
    expect(page.get_by_text("Live", exact=True).first).to_be_visible()
    held: list[Any] = []
    page.route("**/v1/events?live=true", lambda route: held.append(route))
    with page.expect_response("**/v1/executions?*") as read:
        page.reload()
    read.value.finished()
    daemon.execute("return 'between reading and listening'")
    wait_for(lambda: page.title() and held).pop().continue_()
    expect(page.get_by_text("between reading and listening").first).to_be_visible()


def test_a_page_whose_file_an_upgrade_has_removed_is_loaded_again_once_and_no_more(visit: Open, daemon: Daemon) -> None:
    page = visit("/")
    expect(page.get_by_role("heading", level=1, name="Sources")).to_be_visible()
    loads: list[str] = []
    page.on("load", lambda: loads.append(page.url))
    page.route("**/assets/policies-*.js", lambda route: route.fulfill(status=404))
    page.get_by_role("link", name="Policies").first.click()
    expect(page.get_by_role("heading", level=1, name="This page could not be loaded")).to_be_visible()
    assert len(loads) == 1
    page.unroute("**/assets/policies-*.js")
    page.get_by_role("button", name="Reload the page").click()
    expect(page.get_by_role("heading", level=1, name="Policies")).to_be_visible()
    page.route("**/assets/audit-*.js", lambda route: route.fulfill(status=404), times=1)
    page.get_by_role("link", name="Audit").first.click()
    expect(page.get_by_role("heading", level=1, name="Audit")).to_be_visible()


def test_a_filter_typed_while_no_one_answers_shows_no_old_rows(visit: Open, daemon: Daemon, shop: list[Any]) -> None:
    daemon.execute("return 'an old row'")
    page = visit("/executions")
    rows = page.get_by_text("an old row").first
    expect(rows).to_be_visible()
    search_offline(page, "something else", rows)
    # In one step: the page also tries again when it is online, and then the button is gone.
    page.evaluate("[...document.querySelectorAll('button')].find((b) => b.textContent === 'Try again')?.click()")
    expect(page.get_by_text("No matching executions")).to_be_visible()
    page.goto("/sources/shop?q=things")
    tool = page.get_by_role("button", name="shop.things.listThings")
    expect(tool).to_be_visible()
    search_offline(page, "weather in Oslo", tool)


def search_offline(page: Any, text: str, old: Any) -> None:
    """Nothing old is left in the list, and the page says what to do."""
    page.context.set_offline(True)
    page.get_by_role("searchbox").first.fill(text)
    expect(page.get_by_role("alert")).to_contain_text("executor up")
    expect(old).to_have_count(0)
    page.context.set_offline(False)
