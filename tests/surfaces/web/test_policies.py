"""Policies in a browser: written in full, ordered by hand or by key, tried out before they hold."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from executor.surfaces.cli.policy_options import condition
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open


@pytest.fixture(autouse=True)
def remove_policies(daemon: Daemon, shop: list[Any]) -> Iterator[None]:
    yield
    for policy in policies(daemon):
        daemon.request("DELETE", f"/v1/policies/{policy['id']}")


def policies(daemon: Daemon) -> list[Any]:
    return list(daemon.get("/v1/policies").json["items"])


def add(daemon: Daemon, pattern: str, action: str, **more: Any) -> Any:
    made = daemon.post("/v1/policies", {"pattern": pattern, "action": action, **more})
    assert made.status == 201, made.body
    return made.json


def test_a_policy_is_written_with_everything_it_can_ask_about_and_shown_as_the_command_that_writes_it(
    visit: Open, daemon: Daemon
) -> None:
    add(daemon, "**", "deny", level="organization", effect="destructive")
    page = visit("/policies")
    page.get_by_role("button", name="Add a policy").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Tools", exact=True).fill("shop.things.*")
    form.get_by_label("Then").select_option("allow")
    form.get_by_label("Only for").select_option("write")
    form.get_by_label("Only calls of (optional)").fill("agent")
    form.get_by_label("Only tools of").select_option("shop")
    tests = [
        ("/name", "one_of", "lamp, 5"),
        ("/name", "matches", "l.*"),
        ("/n", "at_most", "10"),
        ("/s", "equals", '"5"'),
    ]
    for index, (path, test, value) in enumerate(tests):
        form.get_by_role("button", name="Add a condition").click()
        form.get_by_label("Argument").nth(index).fill(path)
        form.get_by_label("Test").nth(index).select_option(test)
        form.get_by_label("Value").nth(index).fill(value)
    form.get_by_label("Note (optional)").fill("as agreed")
    form.get_by_label("Level").select_option("organization")
    form.get_by_label("Position").select_option("0")
    expect(form.get_by_role("status").first).to_contain_text("Matches 1 tool: shop.things.createThing")
    command = shlex.split(form.locator("code").last.inner_text())
    form.get_by_role("button", name="Add the policy").click()
    expect(form).to_have_count(0)
    made = policies(daemon)[0]
    expected = [
        {"path": "/name", "test": "one_of", "value": ["lamp", 5]},
        {"path": "/name", "test": "matches", "value": "l.*"},
        {"path": "/n", "test": "at_most", "value": 10},
        {"path": "/s", "test": "equals", "value": "5"},
    ]
    assert made["conditions"] == expected
    assert (made["level"], made["actor"], made["source"], made["effect"], made["note"], made["position"]) == (
        "organization", "agent", "shop", "write", "as agreed", 0,
    )  # fmt: skip
    assert command[:5] == ["executor", "policies", "add", "shop.things.*", "allow"]
    given = [command[at + 1] for at, word in enumerate(command) if word == "--when"]
    assert [condition(one) for one in given] == expected
    for option in ("--actor agent", "--source shop", "--effect write", "--level organization", "--position 0"):
        assert option in " ".join(command)


def test_policies_are_moved_with_keys_buttons_and_by_dragging_and_each_move_is_said(
    visit: Open, daemon: Daemon
) -> None:
    for pattern in ("shop.a", "shop.b", "shop.c"):
        add(daemon, pattern, "deny")

    def order() -> list[str]:
        return [policy["pattern"] for policy in policies(daemon)]

    page = visit("/policies")
    page.get_by_role("listitem", name="Policy 3: shop.c").focus()
    page.keyboard.press("Alt+ArrowUp")
    expect(page.get_by_role("status").filter(has_text="shop.c is now number 2 of 3")).to_be_visible()
    expect(page.get_by_role("listitem", name="Policy 2: shop.c")).to_be_focused()
    page.keyboard.press("Alt+ArrowUp")
    expect(page.get_by_role("listitem", name="Policy 1: shop.c")).to_be_focused()
    assert order() == ["shop.c", "shop.a", "shop.b"]
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("listitem", name="Policy 2: shop.c")).to_be_visible()
    page.get_by_role("button", name="Move shop.b up").click()
    expect(page.get_by_role("listitem", name="Policy 2: shop.b")).to_be_visible()
    page.get_by_role("listitem", name="Policy 1: shop.a").drag_to(page.get_by_role("listitem", name="Policy 3: shop.c"))
    expect(page.get_by_role("listitem", name="Policy 3: shop.a")).to_be_visible()
    assert order() == ["shop.b", "shop.c", "shop.a"]


def test_a_policy_is_changed_and_says_what_it_is_about_and_that_it_can_never_decide(
    visit: Open, daemon: Daemon
) -> None:
    add(daemon, "shop.**", "deny")
    dead = add(daemon, "shop.things.createThing", "allow", note="old")
    page = visit("/policies")
    row = page.get_by_role("listitem", name="Policy 2")
    expect(row).to_contain_text("matches 1 tool")
    expect(row).to_contain_text("It never decides: shop.** → deny above matches all of its calls")
    row.get_by_role("button", name="Edit").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Then").select_option("require_approval")
    form.get_by_label("Note (optional)").fill("new")
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    changed = daemon.get(f"/v1/policies/{dead['id']}").json
    assert (changed["action"], changed["note"], changed["position"]) == ("require_approval", "new", 1)


def test_a_move_and_a_removal_are_tried_on_past_calls_before_they_are_made(visit: Open, daemon: Daemon) -> None:
    allow = add(daemon, "shop.**", "allow")
    view = daemon.execute('await tools.shop.things.createThing({name: "rug"})')
    add(daemon, "shop.things.createThing", "deny")
    page = visit("/policies")
    page.get_by_role("button", name="Simulate moving shop.things.createThing").click()
    dialog = page.get_by_role("dialog")
    changed = dialog.get_by_role("region", name="What would have changed").get_by_role("listitem")
    expect(changed.first).to_contain_text("allow→would bedeny")
    link = changed.first.get_by_role("link")
    assert link.get_attribute("href") == f"/executions/{view['executionId']}?call=1"
    dialog.get_by_role("button", name="Move it there").click()
    expect(page.get_by_role("listitem", name="Policy 1: shop.things.createThing")).to_be_visible()
    page.get_by_role("button", name="Remove shop.**").click()
    expect(dialog).to_contain_text("- shop.** → allow")
    expect(dialog.get_by_text("executor policies add 'shop.**' allow --position 1")).to_be_visible()
    dialog.get_by_role("button", name="Remove").click()
    expect(dialog).to_have_count(0)
    assert allow["id"] not in [policy["id"] for policy in policies(daemon)]
    page.get_by_role("button", name="Remove shop.things.createThing").click()
    expect(dialog.get_by_role("region", name="What would have changed")).to_contain_text("deny→would beask")
    dialog.get_by_role("button", name="Keep it").click()
    assert len(policies(daemon)) == 1


def test_the_test_box_tells_which_policy_decides_and_why_the_others_do_not(visit: Open, daemon: Daemon) -> None:
    add(daemon, "shop.**", "deny", actor="agent")
    add(daemon, "shop.things.*", "allow", conditions=[{"path": "/name", "test": "equals", "value": "lamp"}])
    page = visit("/policies?path=shop.things.createThing")
    page.get_by_label("Arguments (optional, JSON)").fill('{"name": "lamp"}')
    page.get_by_role("button", name="Test").click()
    told = page.get_by_role("list", name="How each policy was evaluated").get_by_role("listitem")
    expect(told.nth(0)).to_contain_text("It is for another actor.")
    expect(told.nth(1)).to_contain_text("This policy decides.")
    page.get_by_label("Arguments (optional, JSON)").fill('{"name": "rug"}')
    page.get_by_role("button", name="Test").click()
    expect(told.nth(1)).to_contain_text('/name="lamp" does not hold.')
    page.get_by_label("Calling actor (default: you)").fill("agent")
    page.get_by_role("button", name="Test").click()
    expect(told.nth(0)).to_contain_text("This policy decides.")
    page.get_by_label("Arguments (optional, JSON)").fill("{")
    page.get_by_role("button", name="Test").click()
    expect(page.get_by_text("This is not JSON")).to_be_visible()
