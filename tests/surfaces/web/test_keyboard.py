"""Without a mouse: one whole story from signing in to looking at what was done, and where the focus is meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon, running_upstream
from tests.surfaces.web.conftest import Open

FOCUSED = """(element) => {
    let focused = document.activeElement;
    while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
    return focused === element;
}"""
# What a person sees of the focus: an outline, a shadow, or the frame around what holds it.
SEEN = """() => {
    const focused = document.activeElement;
    if (!focused || focused === document.body || focused.shadowRoot) return true;
    const look = getComputedStyle(focused);
    return (look.outlineStyle !== "none" && parseFloat(look.outlineWidth) > 0) || look.boxShadow !== "none"
        || focused.closest("dialog") !== null || focused.id === "content";
}"""


EDITS = """() => !!document.activeElement?.shadowRoot?.querySelector(".cm-editor")"""


def reach(page: Any, role: Any, name: str) -> Any:
    """Tab until it has the focus. Each stop on the way shows that it is one."""
    wanted = page.get_by_role(role, name=name).first
    expect(wanted).to_be_visible()
    for _ in range(80):
        if wanted.evaluate(FOCUSED):
            return wanted
        if page.evaluate(EDITS):
            page.keyboard.press("Escape")  # else Tab indents; an editor forgets it after two seconds
        page.keyboard.press("Tab")
        where = page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
        assert page.evaluate(SEEN), f"nothing shows that it has the focus: {where}"
    pytest.fail(f"no number of Tabs leads to {role} {name!r}")


def test_a_newcomer_gets_from_signing_in_to_a_decided_call_by_keyboard_alone(visit: Open, daemon: Daemon) -> None:
    with running_upstream() as (address, made):
        page = visit("/", signed_in=False)
        reach(page, "textbox", "Or paste the link")
        page.keyboard.type(daemon.post("/v1/auth/links").json["url"])
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Sources")).to_be_visible()
        add(page, f"{address}/openapi.json")
        run(page, 'return await tools.story.things.createThing({name: "lamp"})')
        reach(page, "link", "Open the full request")
        page.keyboard.press("Enter")
        decide(page)
        wait_for(lambda: {"name": "lamp"} in made)
        look(page)
    assert daemon.request("DELETE", "/v1/sources/story").status == 200


def add(page: Any, address: str) -> None:
    reach(page, "link", "Add a source")
    page.keyboard.press("Enter")
    reach(page, "textbox", "Address")
    page.keyboard.insert_text(address)
    page.keyboard.press("Enter")
    reach(page, "textbox", "Namespace")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("story")
    page.keyboard.press("Enter")
    page.wait_for_url("**/sources/story*")
    expect(page.get_by_text("createThing").first).to_be_visible()


def run(page: Any, code: str) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("playground")
    page.keyboard.press("Enter")
    reach(page, "textbox", "Code")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(code)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("paused").first).to_be_visible()


def decide(page: Any) -> None:
    expect(page.get_by_role("button", name="Allow once")).to_be_enabled()
    page.keyboard.press("a")
    expect(page.get_by_text("Press y to allow this once")).to_be_visible()
    page.keyboard.press("y")
    expect(page.get_by_role("article", name="The request")).to_contain_text("Allowed by you")


def look(page: Any) -> None:
    reach(page, "link", "exec_")
    page.keyboard.press("Enter")
    page.wait_for_url("**/executions/exec_*")
    expect(page.get_by_role("region", name="Result")).to_contain_text("lamp")


def test_dialogs_hold_the_focus_and_give_it_back(visit: Open) -> None:
    page = visit("/policies")
    page.get_by_role("button", name="Add a policy").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    for _ in range(20):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("button", name="Add a policy")).to_be_focused()
