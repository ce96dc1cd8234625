"""Desktop notifications: switched on where decisions are made, one for each approval, and a click leads to it.

A browser without windows has no notifications: a stand-in is allowed to show them, and remembers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open

STAND_IN = """(() => {
    window.shown = [];
    window.Notification = class {
        static permission = 'granted';
        static async requestPermission() { return 'granted'; }
        constructor(title, options) { Object.assign(this, { title, ...options }); window.shown.push(this); }
        close() { this.closed = true; }
    };
})()"""


def test_an_approval_is_announced_while_no_one_looks_and_a_click_opens_it(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    page = visit("/approvals")
    page.add_init_script(STAND_IN)
    page.reload()
    page.get_by_role("button", name="Notify me").click()
    expect(page.get_by_role("button", name="Notifying you")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("Live", exact=True).first).to_be_visible()
    hide(page)
    view = daemon.execute('return await tools.shop.things.createThing({name: "lamp"})')
    wait_for(lambda: page.evaluate("window.shown.length") == 1)
    [approval] = view["interactions"]
    told = page.evaluate("({ title: shown[0].title, body: shown[0].body, tag: shown[0].tag })")
    assert told == {"title": "A decision is needed", "body": "An execution needs your decision.", "tag": approval["id"]}
    page.evaluate("shown[0].onclick()")
    page.wait_for_url(f"**/approvals/{approval['id']}")
    expect(page.get_by_role("heading", name="shop.things.createThing")).to_be_visible()
    page.goto("/settings?tab=appearance")
    expect(page.get_by_label("Notify me on this desktop when a decision is needed")).to_be_checked()
    page.goto("/approvals")
    page.get_by_role("button", name="Notifying you").click()
    hide(page)
    other = daemon.execute('return await tools.shop.things.createThing({name: "rug"})')
    expect(page.get_by_role("list", name="Requests")).to_contain_text("rug")
    assert page.evaluate("shown.length") == 0
    for one in (view, other):
        daemon.post(f"/v1/interactions/{one['interactions'][0]['id']}/deny", {})


def test_a_request_of_a_session_is_announced_and_counted_too(visit: Open, daemon: Daemon, tmp_path: Path) -> None:
    page = visit("/approvals")
    page.add_init_script(STAND_IN)
    page.reload()
    page.get_by_role("button", name="Notify me").click()
    expect(page.get_by_text("Live", exact=True).first).to_be_visible()
    hide(page)
    body = {"agent": "fake", "cwd": str(tmp_path), "isolation": "simple", "prompt": '[{"bash": "true"}]'}
    session = daemon.post("/v1/sessions", body).json["id"]
    wait_for(lambda: page.evaluate("window.shown.length") == 1)
    assert page.evaluate("shown[0].body") == "An agent session needs your decision."
    # Others of this daemon may be open, and may end.
    wait_for(lambda: page.evaluate("document.title").startswith(f"({count_pending(daemon)}) "))
    wait_for(lambda: page.evaluate("document.getElementById('favicon').href").startswith("data:"))
    page.evaluate("shown[0].onclick()")
    page.wait_for_url("**/approvals/int_*")
    expect(page.get_by_role("heading", name="agent.bash")).to_be_visible()
    page.get_by_role("button", name="Notifying you").click()
    daemon.post(f"/v1/sessions/{session}/stop", {})


def count_pending(daemon: Daemon) -> int:
    total: int = daemon.get("/v1/interactions?status=pending&limit=1").json["total"]
    return total


def hide(page: Any) -> None:
    """As a tab in the background is; the driver keeps every page in front unless told."""
    page.evaluate("Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })")
