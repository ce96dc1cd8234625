"""Whom an approval waits for, in the browser of a person who may not settle it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.people import guest


def separate(daemon: Daemon, choice: str) -> None:
    assert daemon.request("PATCH", "/v1/separation", {"separation": choice}).status == 200


def test_a_member_sees_that_it_waits_for_an_administrator_and_can_not_settle_it(visit: Open, daemon: Daemon) -> None:
    view = daemon.execute('return await tools.executor.sources.add({url: "http://127.0.0.1:9/a", namespace: "mine"})')
    page = guest(visit, daemon, "member", "Mo")
    page.goto(view["interactions"][0]["url"])
    approval = page.get_by_role("article", name="The request")
    expect(approval.get_by_role("status")).to_contain_text("Waiting for an administrator.")
    expect(approval.get_by_role("button", name="Allow once")).to_have_count(0)
    expect(approval.get_by_role("button", name="Deny…")).to_have_count(0)
    page.keyboard.press("a")
    page.keyboard.press("y")
    assert daemon.get(f"/v1/interactions/{view['interactions'][0]['id']}").json["status"] == "pending"
    daemon.post(f"/v1/executions/{view['executionId']}/cancel")


def test_anyone_who_asked_can_not_allow_it_where_duties_are_separated_but_may_deny_it(
    visit: Open, daemon: Daemon, shop: list[Any]
) -> None:
    guest(visit, daemon, "member", "Ada")
    separate(daemon, "all")
    try:
        made = len(shop)
        view = daemon.execute('return await tools.shop.things.createThing({name: "separated"})')
        page = visit(view["interactions"][0]["url"])
        approval = page.get_by_role("article", name="The request")
        expect(approval).to_contain_text("Waiting for another person.")
        expect(approval).to_contain_text("Ada")
        expect(approval.get_by_role("button", name="Allow once")).to_be_disabled()
        expect(approval.get_by_role("button", name="Allow for this execution")).to_be_disabled()
        page.keyboard.press("a")
        page.keyboard.press("y")
        approval.get_by_role("button", name="Deny…").click()
        approval.get_by_role("button", name="Deny", exact=True).click()
        expect(approval.get_by_role("status")).to_contain_text("Denied by you")
        assert len(shop) == made
    finally:
        separate(daemon, "default")


def test_an_administrator_chooses_what_is_separated(visit: Open, daemon: Daemon) -> None:
    page = visit("/settings?tab=people")
    try:
        page.get_by_role("combobox", name="Separation of duties").select_option("all")
        wait_for(lambda: daemon.get("/v1/separation").json["separation"] == "all")
        expect(page.get_by_role("combobox", name="Separation of duties")).to_have_value("all")
    finally:
        separate(daemon, "default")
