"""Deciding in a browser: everything is shown, nothing is decided by accident, and every open tab knows at once."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.api.serving import Daemon, wait_for
from tests.web.conftest import Open


def asked(view: Any) -> str:
    return str(view["interactions"][0]["id"])


def outcome(daemon: Daemon, view: Any) -> Any:
    return daemon.get(f"/v1/executions/{view['executionId']}?wait=20").json


def test_a_link_from_an_agent_shows_exactly_what_is_asked_and_lets_it_happen_once(
    visit: Open, daemon: Daemon, paused: Any, shop: list[Any]
) -> None:
    made = len(shop)
    page = visit(paused["interactions"][0]["url"])
    question = page.get_by_role("article", name="The question")
    expect(question.get_by_role("heading", name="shop.things.createThing")).to_be_visible()
    for shown in ("agent", "Shop", "a write needs approval by default", "write", paused["executionId"]):
        expect(question).to_contain_text(shown)
    expect(question.get_by_role("region", name="Arguments")).to_contain_text('name: "lamp"')
    page.get_by_role("button", name="Allow once").click()
    expect(question.get_by_role("status")).to_contain_text("This was approved")
    assert outcome(daemon, paused)["status"] == "completed"
    assert len(shop) == made + 1


def test_a_denial_reaches_the_code_with_its_reason(visit: Open, daemon: Daemon, paused: Any, shop: list[Any]) -> None:
    made = len(shop)
    page = visit(f"/approvals/{asked(paused)}")
    page.get_by_label("Reason (the code gets to see it)").fill("not today")
    page.get_by_role("button", name="Deny").click()
    expect(page.get_by_role("article")).to_contain_text("This was denied")
    ended = outcome(daemon, paused)
    assert ended["status"] == "failed"
    assert "not today" in str(ended["error"])
    assert len(shop) == made


def test_nothing_is_focused_that_a_stray_key_could_press_and_allowing_by_keyboard_takes_two_keys(
    visit: Open, daemon: Daemon, paused: Any
) -> None:
    page = visit(f"/approvals/{asked(paused)}")
    allow = page.get_by_role("button", name="Allow once")
    expect(allow).to_be_enabled()
    for key in ("Enter", " ", "y"):
        page.keyboard.press(key)
    assert daemon.get(f"/v1/interactions/{asked(paused)}").json["status"] == "pending"
    page.keyboard.press("a")
    expect(page.get_by_text("Press y to allow this once")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("y")
    assert daemon.get(f"/v1/interactions/{asked(paused)}").json["status"] == "pending"
    page.keyboard.press("a")
    page.keyboard.press("y")
    expect(page.get_by_role("article")).to_contain_text("This was approved")


def test_what_has_just_appeared_cannot_be_answered_yet(visit: Open, paused: Any) -> None:
    page = visit("/approvals")
    page.clock.install()
    page.get_by_role("list", name="Questions").get_by_role("link").first.click()
    expect(page.get_by_role("button", name="Allow once")).to_be_disabled()
    expect(page.get_by_role("button", name="Deny")).to_be_disabled()
    page.clock.run_for(1_000)
    expect(page.get_by_role("button", name="Allow once")).to_be_enabled()


def test_always_shows_the_rule_before_it_is_saved_and_pins_arguments(visit: Open, daemon: Daemon, paused: Any) -> None:
    page = visit(f"/approvals/{asked(paused)}")
    page.get_by_role("button", name="Always allow…").click()
    draft = page.get_by_role("region", name="Always allow")
    expect(draft).to_contain_text("+ shop.things.createThing")
    assert daemon.get("/v1/policies").json["items"] == []
    draft.get_by_label('name = "lamp"').check()
    expect(draft).to_contain_text('/name="lamp"')
    draft.get_by_role("button", name="Save the rule and allow").click()
    expect(page.get_by_role("article")).to_contain_text("always, by a new rule")
    [rule] = daemon.get("/v1/policies").json["items"]
    assert rule["conditions"] == [{"path": "/name", "test": "equals", "value": "lamp"}]
    assert daemon.request("DELETE", f"/v1/policies/{rule['id']}").status == 204


def test_two_tabs_and_the_title_follow_what_happens(visit: Open, daemon: Daemon, shop: list[Any]) -> None:
    for one in daemon.get("/v1/interactions?status=pending").json["items"]:
        daemon.post(f"/v1/interactions/{one['id']}/deny", {})
    first = visit("/approvals")
    second = visit("/", within=first.context)
    for page in (first, second):
        expect(page.get_by_text("Live", exact=True).first).to_be_visible()
    expect(first.get_by_text("Nothing waits for you")).to_be_visible()
    view = daemon.execute('return await tools.shop.things.createThing({name: "chair"})')
    expect(first.get_by_role("list", name="Questions")).to_contain_text("shop.things.createThing")
    wait_for(lambda: second.title().startswith("(1) "))
    assert str(second.locator("#favicon").get_attribute("href")).startswith("data:image/svg+xml")
    daemon.post(f"/v1/interactions/{asked(view)}/deny", {})
    expect(first.get_by_text("Nothing waits for you")).to_be_visible()
    wait_for(lambda: not second.title().startswith("("))


def test_a_question_decided_elsewhere_says_so_where_it_is_open(visit: Open, daemon: Daemon, paused: Any) -> None:
    page = visit(f"/approvals/{asked(paused)}")
    expect(page.get_by_role("button", name="Allow once")).to_be_enabled()
    daemon.post(f"/v1/interactions/{asked(paused)}/deny", {"reason": "decided in a terminal"})
    expect(page.get_by_role("article")).to_contain_text("decided in a terminal")
    expect(page.get_by_role("button", name="Allow once")).to_have_count(0)


def test_the_whole_inbox_works_by_keyboard_alone(visit: Open, daemon: Daemon, paused: Any) -> None:
    page = visit("/")
    expect(page.get_by_role("heading", name="Sources")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page.get_by_role("list", name="Questions")).to_be_visible()
    page.keyboard.press("j")
    expect(page.get_by_role("button", name="Deny")).to_be_enabled()
    page.keyboard.press("d")
    page.keyboard.type("no")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("This was denied")


def test_on_a_phone_nothing_is_cut_off_and_one_can_decide(visit: Open, daemon: Daemon, paused: Any) -> None:
    page = visit(f"/approvals/{asked(paused)}", viewport={"width": 380, "height": 740}, has_touch=True)
    expect(page.get_by_role("article")).to_contain_text("lamp")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Allow once").tap()
    expect(page.get_by_role("article")).to_contain_text("This was approved")
