"""Terminals of a session in a browser: typed into, left and found again, watched and taken over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.test_agent_sessions import start


def rows(page: Page) -> Any:
    return page.locator(".xterm-rows")


def type_line(page: Page, text: str) -> None:
    page.locator(".xterm-helper-textarea").focus()
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def status(page: Page) -> Any:
    return page.get_by_role("region", name="Terminal").get_by_role("status")


def test_a_terminal_is_opened_typed_into_and_found_again_after_a_reload(
    visit: Open, daemon: Daemon, tmp_path: Path
) -> None:
    session = start(daemon, tmp_path, {"say": "hello"})
    page = visit(f"/sessions/{session}?tab=terminal")
    expect(page.get_by_text("No terminal is open")).to_be_visible()
    page.get_by_role("button", name="Open a terminal").click()
    expect(status(page)).to_have_text("You are writing")
    type_line(page, r"printf '\e[38;2;200;80;20mtrue colour\e[0m \e[1;32mgreen\e[0m 漢字\n'; echo sum-$((40+2))")
    expect(rows(page)).to_contain_text("sum-42")
    expect(rows(page).get_by_text("true colour", exact=True).last).to_have_css("color", "rgb(200, 80, 20)")
    columns = daemon.get(f"/v1/sessions/{session}/terminals").json["items"][0]["cols"]
    page.set_viewport_size({"width": 390, "height": 800})

    def has_shrunk() -> bool:
        return bool(daemon.get(f"/v1/sessions/{session}/terminals").json["items"][0]["cols"] < columns)

    wait_for(has_shrunk)
    page.reload()
    expect(rows(page)).to_contain_text("sum-42")
    expect(status(page)).to_have_text("You are writing")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    type_line(page, "exit")
    expect(status(page)).to_have_text("Ended: its shell exited")
    expect(page.get_by_role("button", name="Terminal 1")).to_have_count(0)
    expect(rows(page)).to_contain_text("sum-42")
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.get_by_text("No terminal is open")).to_be_visible()


def test_a_second_page_watches_until_it_takes_over(visit: Open, daemon: Daemon, tmp_path: Path) -> None:
    session = start(daemon, tmp_path, {"say": "hello"})
    first = visit(f"/sessions/{session}?tab=terminal")
    first.get_by_role("button", name="Open a terminal").click()
    expect(status(first)).to_have_text("You are writing")
    second = first.context.new_page()
    second.goto(first.url)
    expect(status(second)).to_contain_text("you are watching")
    type_line(first, "echo from-$((1+1))")
    expect(rows(second)).to_contain_text("from-2")
    type_line(second, "echo ignored")
    second.get_by_role("button", name="Take over").click()
    expect(status(second)).to_contain_text("You are writing")
    expect(status(first)).to_contain_text("you are watching")
    type_line(second, "echo now-$((1+2))")
    expect(rows(first)).to_contain_text("now-3")
    expect(rows(first)).not_to_contain_text("ignored")
    second.close()
    expect(status(first)).to_contain_text("Watching")
    first.get_by_role("button", name="End").click()
    first.get_by_role("button", name="Really end?").click()
    expect(status(first)).to_contain_text("Ended: ended by")
