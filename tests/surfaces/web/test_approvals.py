"""Deciding in a browser: everything is shown, nothing is decided by accident, and every open tab knows at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from playwright.sync_api import expect

from executor.storage.tables.core import interactions
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open

DRAWN = """href => new Promise((done) => {
    const image = new Image();
    image.onload = () => done(image.width);
    image.onerror = () => done(0);
    image.src = href;
})"""
CREATE = "shop.things.createThing"


def first_interaction(view: Any) -> str:
    return str(view["interactions"][0]["id"])


def outcome(daemon: Daemon, view: Any) -> Any:
    return daemon.get(f"/v1/executions/{view['executionId']}?wait=60").json


def waiting(daemon: Daemon) -> list[Any]:
    return list(daemon.get("/v1/interactions?status=pending&limit=500").json["items"])


@pytest.fixture(autouse=True)
def nothing_stays(daemon: Daemon) -> Iterator[None]:
    yield
    for one in waiting(daemon):
        daemon.post(f"/v1/interactions/{one['id']}/deny", {})
    for policy in daemon.get("/v1/policies").json["items"]:
        daemon.request("DELETE", f"/v1/policies/{policy['id']}")


def test_a_link_from_an_agent_leads_through_the_sign_in_to_exactly_what_is_asked(
    visit: Open, daemon: Daemon, paused: Any, shop: list[Any]
) -> None:
    made = len(shop)
    page = visit(paused["interactions"][0]["url"], signed_in=False)
    page.get_by_label("Or paste the link").fill(daemon.post("/v1/auth/links").json["url"])
    page.get_by_role("button", name="Sign in").click()
    approval = page.get_by_role("article", name="The request")
    expect(approval.get_by_role("heading", name=CREATE)).to_be_visible()
    for shown in (
        "agent through an agent's token from 127.0.0.1", "Shop", "http://127.0.0.1:", "write", "in 7 days",
        "a write needs approval by default", paused["executionId"],
    ):  # fmt: skip
        expect(approval).to_contain_text(shown)
    expect(approval.get_by_role("region", name="Arguments")).to_contain_text('name: "lamp"')
    expect(approval.get_by_role("region", name="Code")).to_contain_text("→ 1return await tools.shop.things.createThing")
    page.get_by_role("button", name="Allow once").click()
    expect(approval).to_contain_text("Allowed by you")
    expect(approval.get_by_role("region", name="What the call returned")).to_contain_text('name: "lamp"')
    assert outcome(daemon, paused)["status"] == "completed"
    assert len(shop) == made + 1


def test_an_approval_tells_what_its_execution_did_before_and_which_policy_asks(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    policy = daemon.post("/v1/policies", {"pattern": "shop.**", "action": "require_approval", "effect": "write"}).json
    create = "await tools.shop.things.createThing"
    view = daemon.execute(
        f'await tools.shop.things.listThings({{}});\n{create}({{name: "a"}});\n{create}({{name: "b"}});'
    )
    daemon.post(f"/v1/interactions/{first_interaction(view)}/approve", {})
    second = wait_for(lambda: [one for one in waiting(daemon) if one["executionId"] == view["executionId"]])[0]
    page = visit(f"/approvals/{second['id']}")
    region = page.get_by_role("region", name="The execution")
    expect(region.get_by_role("listitem").filter(has_text="listThings")).to_contain_text("succeeded")
    expect(region.get_by_role("listitem").last).to_contain_text("← this request")
    expect(page.get_by_role("region", name="Arguments")).to_contain_text("What differs from call 2")
    expect(page.get_by_role("region", name="Arguments").locator("ins")).to_have_text('+ "b"')
    page.get_by_role("link", name="See the policy").click()
    page.wait_for_url(f"**/policies?path={CREATE}&rule={policy['id']}")
    expect(page.get_by_label("Tool", exact=True)).to_have_value(CREATE)


def test_a_denial_reaches_the_code_with_its_reason(visit: Open, daemon: Daemon, paused: Any, shop: list[Any]) -> None:
    made = len(shop)
    page = visit(f"/approvals/{first_interaction(paused)}")
    page.get_by_role("button", name="Deny…").click()
    page.get_by_label("Reason (shown to the code)").fill("not today")
    page.get_by_role("button", name="Deny", exact=True).click()
    expect(page.get_by_role("article")).to_contain_text("Denied by you")
    ended = outcome(daemon, paused)
    assert ended["status"] == "failed"
    assert "not today" in str(ended["error"])
    assert len(shop) == made


def test_nothing_is_focused_that_a_stray_key_could_press_and_allowing_by_keyboard_takes_two_keys(
    visit: Open, daemon: Daemon, paused: Any
) -> None:
    page = visit(f"/approvals/{first_interaction(paused)}")
    expect(page.get_by_role("button", name="Allow once")).to_be_enabled()
    expect(page.get_by_role("heading", name=CREATE)).to_be_focused()
    for key in ("Enter", " ", "y"):
        page.keyboard.press(key)
    assert daemon.get(f"/v1/interactions/{first_interaction(paused)}").json["status"] == "pending"
    page.keyboard.press("a")
    expect(page.get_by_text("Press y to allow this once")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("y")
    assert daemon.get(f"/v1/interactions/{first_interaction(paused)}").json["status"] == "pending"
    page.keyboard.press("a")
    page.keyboard.press("y")
    expect(page.get_by_role("article")).to_contain_text("Allowed by you")


# What the page would do after half a second it does when the test says so, however long the test itself takes.
HOLD = """(window => {
    const later = window.setTimeout
    window.held = []
    window.setTimeout = (act, delay, ...rest) => delay === 500 ? window.held.push(act) : later(act, delay, ...rest)
})(window)"""
RELEASE = "held.splice(0).forEach((act) => act())"


def test_what_has_just_appeared_or_come_to_the_front_cannot_be_answered_yet(visit: Open, paused: Any) -> None:
    page = visit("/")
    expect(page.get_by_role("heading", level=1, name="Sources")).to_be_visible()
    page.evaluate(HOLD)
    page.get_by_role("link", name="Approvals").first.click()
    allow = page.get_by_role("button", name="Allow once")
    expect(allow).to_be_disabled()
    expect(page.get_by_role("button", name="Deny…")).to_be_disabled()
    page.evaluate(RELEASE)
    expect(allow).to_be_enabled()
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(allow).to_be_disabled()
    page.evaluate(RELEASE)
    expect(allow).to_be_enabled()


def test_a_double_click_decides_once_and_the_next_approval_opens_calmly(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    for name in ("first", "second"):
        daemon.execute(f'return await tools.shop.things.createThing({{name: "{name}"}})')
    page = visit("/approvals")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    alike = page.get_by_role("list", name=f"{CREATE}, asked 2 times")
    alike.get_by_role("link", name='name: "first"').click()
    expect(page.get_by_role("region", name="Arguments")).to_contain_text('"first"')
    page.get_by_label("Then open the next one").check()
    expect(page.get_by_role("button", name="Allow once")).to_be_enabled()
    page.evaluate(HOLD)
    page.get_by_role("button", name="Allow once").dblclick()
    expect(page.get_by_role("region", name="Arguments")).to_contain_text('"second"')
    expect(page.get_by_role("button", name="Allow once")).to_be_disabled()
    page.evaluate(RELEASE)
    expect(page.get_by_role("button", name="Allow once")).to_be_enabled()
    assert len([url for url in sent if url.endswith("/approve")]) == 1
    assert len(waiting(daemon)) == 1


def test_always_shows_the_policies_around_the_new_one_and_how_wide_it_is(
    visit: Open, daemon: Daemon, paused: Any
) -> None:
    for pattern, action in (("other.**", "deny"), ("shop.**", "require_approval")):
        daemon.post("/v1/policies", {"pattern": pattern, "action": action})
    view = daemon.execute('return await tools.shop.things.createThing({name: "lamp"})')
    page = visit(f"/approvals/{first_interaction(view)}")
    page.get_by_role("button", name="Always allow…").click()
    panel = page.get_by_role("region", name="Always allow")
    lines = panel.get_by_role("region", name="The policies including the new one").get_by_role("listitem")
    added = "+2added: shop.things.createThing (write calls) of shop by agent → allow"
    expect(lines).to_have_text(["  1other.** → deny", added, "  3shop.** → require_approval"])
    past = panel.get_by_role("region", name="What would have changed").get_by_role("listitem")
    expect(past.first).to_contain_text("ask→would beallowshop.things.createThing")
    panel.get_by_label("Every write tool of shop").check()
    save = panel.get_by_role("button", name="Save the policy and allow")
    expect(lines.nth(1)).to_contain_text("shop.** (write calls)")
    expect(save).to_be_disabled()
    panel.get_by_label("Yes, all 1 tools").check()
    expect(save).to_be_enabled()
    panel.get_by_label("Exactly this call").check()
    expect(lines.nth(1)).to_contain_text('arguments={"name":"lamp"}')
    panel.get_by_label("This tool", exact=True).check()
    panel.get_by_label('name = "lamp"').check()
    expect(lines.nth(1)).to_contain_text('/name="lamp"')
    assert len(daemon.get("/v1/policies").json["items"]) == 2
    save.click()
    expect(page.get_by_role("article")).to_contain_text("always, by a new policy")
    policy = daemon.get("/v1/policies").json["items"][1]
    assert policy["conditions"] == [{"path": "/name", "test": "equals", "value": "lamp"}]


def test_two_tabs_the_title_the_icon_and_the_navigation_follow_what_happens(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    first = visit("/approvals")
    second = visit("/", within=first.context)
    for page in (first, second):
        expect(page.get_by_text("Live", exact=True).first).to_be_visible()
    expect(first.get_by_text("No pending approvals")).to_be_visible()
    view = daemon.execute('return await tools.shop.things.createThing({name: "chair"})')
    expect(first.get_by_role("list", name="Requests")).to_contain_text(CREATE)
    expect(second).to_have_title("(1) Sources · Executor")
    expect(second.get_by_role("navigation", name="Main").first).to_contain_text("1 waiting")
    icon = second.locator("#favicon")
    assert "%3E1%3C%2Ftext" in str(icon.get_attribute("href"))
    drawn = second.evaluate(DRAWN, icon.get_attribute("href"))
    assert drawn > 0
    daemon.post(f"/v1/interactions/{first_interaction(view)}/deny", {})
    expect(first.get_by_text("No pending approvals")).to_be_visible()
    expect(second).to_have_title("Sources · Executor")
    expect(icon).to_have_attribute("href", "/favicon.svg")


def test_an_approval_decided_cancelled_or_asked_again_elsewhere_says_so_where_it_is_open(
    visit: Open, daemon: Daemon, paused: Any
) -> None:
    page = visit(f"/approvals/{first_interaction(paused)}")
    expect(page.get_by_role("button", name="Allow once")).to_be_enabled()
    daemon.post(f"/v1/interactions/{first_interaction(paused)}/deny", {"reason": "decided in a terminal"})
    expect(page.get_by_role("article")).to_contain_text("decided in a terminal")
    expect(page.get_by_role("button", name="Allow once")).to_have_count(0)
    other = daemon.execute('return await tools.shop.things.createThing({name: "chair"})')
    page.goto(f"/approvals/{first_interaction(other)}")
    expect(page.get_by_role("button", name="Allow once")).to_be_enabled()
    daemon.post(f"/v1/executions/{other['executionId']}/cancel")
    expect(page.get_by_role("article")).to_contain_text("cancelled with its execution")


def test_an_approval_whose_time_is_over_cannot_be_decided(visit: Open, daemon: Daemon, paused: Any) -> None:
    page = visit("/")
    expect(page.get_by_role("heading", level=1, name="Sources")).to_be_visible()
    until = datetime.fromisoformat(daemon.get(f"/v1/interactions/{first_interaction(paused)}").json["expiresAt"])
    page.clock.install(time=until - timedelta(seconds=125))
    page.get_by_role("link", name="Approvals").first.click()
    expect(page.get_by_role("article")).to_contain_text(re.compile(r"in [12]:\d\d"))
    page.clock.run_for(130_000)
    expect(page.get_by_role("article")).to_contain_text("This request has expired.")


def test_the_whole_inbox_works_by_keyboard_alone(visit: Open, daemon: Daemon, shop: list[Any]) -> None:
    for name in ("one", "two"):
        daemon.execute(f'return await tools.shop.things.createThing({{name: "{name}"}})')
    page = visit("/")
    expect(page.get_by_role("heading", name="Sources")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("a")
    rows = page.get_by_role("list", name=f"{CREATE}, asked 2 times").get_by_role("link")
    expect(rows).to_have_count(2)
    expect(rows.first).to_have_attribute("aria-current", "page")
    expect(page.get_by_role("region", name="Arguments")).to_contain_text('"two"')
    page.keyboard.press("j")
    expect(page.get_by_role("region", name="Arguments")).to_contain_text('"one"')
    page.keyboard.press("k")
    expect(page.get_by_role("region", name="Arguments")).to_contain_text('"two"')
    expect(page.get_by_role("button", name="Deny…")).to_be_enabled()
    page.keyboard.press("d")
    page.keyboard.type("no")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("Denied by you")
    page.keyboard.press("Escape")
    assert len(waiting(daemon)) == 1


def test_decided_ones_are_found_by_a_filter_that_stands_in_the_address(
    visit: Open, daemon: Daemon, paused: Any
) -> None:
    daemon.post(f"/v1/interactions/{first_interaction(paused)}/approve", {})
    page = visit("/approvals")
    page.get_by_label("Show").select_option("approved")
    page.get_by_label("Source", exact=True).select_option("shop")
    page.wait_for_url("**/approvals?show=approved&source=shop")
    page.reload()
    expect(page.get_by_role("list", name="Requests")).to_contain_text("✓ allowed")
    expect(page.get_by_role("list", name="Requests")).to_contain_text("operator")
    page.goto("/approvals?actor=operator")
    expect(page.get_by_text("No requests match this filter")).to_be_visible()


def test_more_approvals_than_a_page_holds_are_counted_and_shown_when_wanted(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    code = "await Promise.allSettled(Array.from({length: 60}, (_, n) => tools.shop.things.createThing({name: `${n}`})))"
    daemon.execute(code), daemon.execute(code)
    total = len(waiting(daemon))
    assert total > 100, total
    page = visit("/approvals")
    expect(page.get_by_role("navigation", name="Main").first).to_contain_text(f"{total} waiting")
    expect(page.get_by_text(f"100 of {total}")).to_be_visible()
    page.get_by_role("button", name="Show more").click()
    expect(page.get_by_text(f"{total} total")).to_be_visible()


def test_a_lost_answer_is_sent_again_given_or_left_to_the_code(visit: Open, daemon: Daemon, paused: Any) -> None:
    """The row is made what a crash between the effect and its record leaves behind."""
    lost = sa.update(interactions).where(interactions.c.id == first_interaction(paused)).values(kind="unknown_outcome")
    daemon.run(daemon.executor.database.write(lambda c: c.execute(lost)))
    page = visit(f"/approvals/{first_interaction(paused)}")
    expect(page.get_by_role("button", name="Send it again")).to_be_enabled()
    expect(page.get_by_role("button", name="Return the error to the code…")).to_be_enabled()
    expect(page.get_by_role("button", name="Always allow…")).to_have_count(0)
    page.get_by_role("button", name="It took effect: enter its result…").click()
    page.get_by_label("The actual result of the call, as JSON").fill('{"id": 77}')
    page.get_by_role("button", name="Continue with this result").click()
    expect(page.get_by_role("article")).to_contain_text("Allowed by you")
    assert outcome(daemon, paused)["result"] == {"id": 77}


def test_letters_that_look_like_others_are_named(visit: Open, daemon: Daemon, shop: list[Any]) -> None:
    view = daemon.execute(r'return await tools.shop.things.createThing({name: "pay to p\u0430ypal"})')
    page = visit(f"/approvals/{first_interaction(view)}")
    expect(page.get_by_role("note")).to_contain_text("(U+0430)")


def test_on_a_phone_nothing_is_cut_off_and_the_thumb_reaches_every_decision(
    visit: Open, daemon: Daemon, paused: Any
) -> None:
    page = visit(f"/approvals/{first_interaction(paused)}", viewport={"width": 380, "height": 740}, has_touch=True)
    expect(page.get_by_role("article")).to_contain_text("lamp")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for name in ("Deny…", "Allow once", "More…"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport()
    expect(page.get_by_role("button", name="Allow for this execution")).to_be_hidden()
    page.get_by_role("button", name="More…").tap()
    page.get_by_role("button", name="Allow for this execution").tap()
    expect(page.get_by_role("article")).to_contain_text("Allowed by you for this execution")
