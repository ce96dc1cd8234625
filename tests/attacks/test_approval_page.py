"""Attacks 75 to 77 in a browser: what a page shows is what is sent, all of it, and where it goes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.attacks.test_approval_prompt import LONG, PAY, TRICKS, request_approval, whole
from tests.sources.upstream import Got
from tests.support.bank import bank, cli
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open, also_asked, browser, visit  # noqa: F401 - fixtures


@pytest.fixture(scope="module")
def payments(daemon: Daemon) -> Iterator[list[Got]]:
    with bank(daemon) as payments:
        yield payments


def test_75_the_browser_shows_the_digits_that_are_sent(visit: Open, daemon: Daemon, payments: list[Got]) -> None:  # noqa: F811
    """Defence: `web/src/api/json.ts` reads numbers as they are written, and everything is shown through it."""
    code = """
for amount in (9007199254740992, 9007199254740993):
    await tools.bank.money.pay(account="1", body={"amount": amount, "rate": 1.0})
return 9007199254740993"""
    first = request_approval(daemon, code, "python")
    daemon.post(f"/v1/interactions/{first['id']}/approve", {})
    second = daemon.get(f"/v1/executions/{first['executionId']}?wait=60").json["interactions"][0]
    page = visit(f"/approvals/{second['id']}")
    arguments = page.get_by_role("region", name="Arguments")
    expect(arguments).to_contain_text("amount: 9007199254740993")
    expect(arguments).to_contain_text("rate: 1.0")
    expect(arguments.locator("ins")).to_have_text("+ 9007199254740993")
    expect(page.get_by_role("list", name="Requests")).to_contain_text("9007199254740993")
    page.get_by_role("button", name="Always allow…").click()
    expect(page.get_by_role("region", name="Always allow")).to_be_visible()
    page.get_by_label("Exactly this call").click()
    expect(page.get_by_role("region", name="The policies including the new one")).to_contain_text("9007199254740993")
    page.get_by_role("button", name="Save the policy and allow").click()
    expect(page.get_by_role("article")).to_contain_text("Allowed by you")
    wait_for(lambda: b"9007199254740993" in payments[-1].body)
    policies = daemon.get("/v1/policies").json["items"]
    assert "9007199254740993" in str([policy["conditions"] for policy in policies])
    for policy in policies:
        daemon.request("DELETE", f"/v1/policies/{policy['id']}")
    page.goto(f"/executions/{second['executionId']}")
    expect(page.get_by_role("main")).to_contain_text("9007199254740993")
    expect(page.get_by_role("main")).not_to_contain_text("9007199254740994")


@pytest.mark.parametrize("name", LONG)
def test_76_nothing_is_allowed_that_was_not_in_view(
    visit: Open,  # noqa: F811
    daemon: Daemon,
    payments: list[Got],
    name: str,
) -> None:
    """Defence: `folding.ts` and `folded` in `decide.tsx`; nothing of a short request is folded."""
    approval = request_approval(daemon, f'{PAY}({{account: "1", body: {json.dumps(LONG[name])}}})')
    page = visit(f"/approvals/{approval['id']}")
    allow = page.get_by_role("button", name="Allow once")
    if name == "a deep object":
        expect(page.get_by_role("region", name="Arguments")).to_contain_text("attacker@evil.example")
        expect(allow).to_be_enabled()
        return
    expect(page.get_by_role("alert")).to_contain_text("Not everything is in view")
    expect(page.get_by_text("Show everything first")).to_be_visible()
    expect(allow).to_be_disabled()
    for button in ("Allow for this execution", "Always allow…"):
        expect(page.get_by_role("button", name=button)).to_be_disabled()
    expect(page.get_by_role("button", name="Deny…")).to_be_enabled()
    page.keyboard.press("a")
    page.keyboard.press("y")
    assert whole(daemon, approval).json["status"] == "pending"
    page.get_by_role("button", name="Show everything").click()
    expect(page.get_by_role("region", name="Arguments")).to_contain_text("attacker@evil.example")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(allow).to_be_enabled()


def test_76_letters_that_deceive_are_marked_wherever_they_are_shown(
    visit: Open,  # noqa: F811
    daemon: Daemon,
    payments: list[Got],
) -> None:
    """Defence: `escape` of the daemon, `visible` of the browser; both mark the same letters."""
    body = {f"{number} {text}": text for number, (text, _) in enumerate(TRICKS.values())}
    body["plain"] = "Привет, naïve 日本"
    approval = request_approval(daemon, f'{PAY}({{account: "1", body: {json.dumps(body)}}})')
    terminal = cli(daemon, "approvals", "show", approval["id"]).stdout
    page = visit(f"/approvals/{approval['id']}")
    arguments = page.get_by_role("region", name="Arguments")
    for text, marked in TRICKS.values():
        assert marked in terminal and text not in terminal
        expect(arguments).to_contain_text(f': "{marked}"' if text[0] != "a" or len(text) < 5 else marked)
    assert "Привет, naïve 日本" in terminal
    expect(arguments).to_contain_text("Привет, naïve 日本")


def test_77_a_page_names_the_request_and_the_credential(visit: Open, daemon: Daemon, payments: list[Got]) -> None:  # noqa: F811
    approval = request_approval(daemon, f'{PAY}({{account: "1", memo: "two words", body: {{}}}})')
    article = visit(f"/approvals/{approval['id']}").get_by_role("article", name="The request")
    expect(article).to_contain_text(approval["request"])
    expect(article).to_contain_text("alice (bearer, of the workspace)")
