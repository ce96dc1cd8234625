"""Workspaces in a browser: one sees where one is, each tab stays in its own, and nothing of one shows in another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.surfaces.api.daemon_server import Daemon, running_upstream
from tests.surfaces.web.conftest import Open


@pytest.fixture(scope="module")
def annex(daemon: Daemon, shop: list[Any]) -> Iterator[str]:
    """The id of a second workspace, which has the source `depot` where the first has `shop`."""
    made = daemon.post("/v1/workspaces", {"name": "Annex"})
    assert made.status == 201, made.body
    there = {"X-Executor-Workspace": made.json["id"]}
    with running_upstream() as (address, _):
        asked = {"location": f"{address}/openapi.json", "namespace": "depot", "name": "Depot"}
        added = daemon.post("/v1/sources", asked, headers=there)
        assert added.status == 201, added.body
        yield str(made.json["id"])


def switch(page: Any, name: str) -> None:
    page.get_by_role("button", name="Workspace").first.click()
    page.get_by_role("menuitem", name=name).click()
    expect(page.get_by_role("button", name=f"Workspace {name}: switch").first).to_be_visible()


def source_links(page: Any) -> Any:
    return page.get_by_role("main").get_by_role("link").filter(has_text="tools")


def test_switching_brings_the_other_workspace_and_leaves_other_tabs_where_they_are(
    visit: Open, daemon: Daemon, annex: str
) -> None:
    first = visit("/sources/shop")
    expect(first.get_by_role("heading", level=1)).to_be_visible()
    second = visit("/", within=first.context)
    expect(source_links(second).filter(has_text="shop")).to_be_visible()
    switch(first, "Annex")
    first.wait_for_url(f"{daemon.url}/")
    expect(source_links(first)).to_have_count(1)
    expect(source_links(first)).to_contain_text("depot")
    second.reload()
    expect(source_links(second).filter(has_text="shop")).to_be_visible()
    expect(second.get_by_role("button", name="Workspace default: switch").first).to_be_visible()
    third = visit("/", within=first.context)
    expect(source_links(third)).to_contain_text("depot")  # a new tab begins where one chose to be last
    switch(third, "default")
    expect(source_links(third).filter(has_text="shop")).to_be_visible()


def test_the_live_stream_and_every_act_follow_the_tab(visit: Open, daemon: Daemon, annex: str) -> None:
    page = visit("/playground")
    switch(page, "Annex")
    there = {"X-Executor-Workspace": annex}
    page.goto("/approvals")
    expect(page.get_by_text("No pending approvals")).to_be_visible()
    expect(page.get_by_text("Live", exact=True).first).to_be_visible()
    asked = {"code": "return await tools.depot.things.createThing({name: 'crate'})"}
    paused = daemon.post("/v1/executions", asked, headers=there).json
    assert paused["status"] == "paused", paused
    page.get_by_role("button", name="Allow once").click()
    expect(page.get_by_role("article")).to_contain_text("Allowed by you")
    elsewhere = visit("/approvals?show=all", signed_in=True)
    expect(elsewhere.get_by_text("depot.things.createThing")).to_have_count(0)


def test_a_workspace_is_made_renamed_and_entered(visit: Open, daemon: Daemon) -> None:
    page = visit("/settings?tab=place")
    page.get_by_label("New workspace").fill("Lab")
    page.get_by_role("button", name="Create").click()
    row = page.get_by_role("list", name="Workspaces").get_by_role("listitem").filter(has_text="Lab")
    row.get_by_role("button", name="Switch").click()
    expect(page.get_by_role("button", name="Workspace Lab: switch").first).to_be_visible()
    page.get_by_label("Name of the workspace").fill("Laboratory")
    page.get_by_role("button", name="Rename").last.click()
    expect(page.get_by_role("button", name="Workspace Laboratory: switch").first).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("switch default")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Workspace default: switch").first).to_be_visible()


def test_a_remembered_workspace_that_is_not_ones_own_gives_way(visit: Open) -> None:
    page = visit("/")
    expect(page.get_by_role("heading", name="Sources")).to_be_visible()
    page.evaluate("for (const kept of [localStorage, sessionStorage]) kept.setItem('executor.workspace', 'ws_gone')")
    page.reload()
    expect(page.get_by_role("heading", name="Sources")).to_be_visible()
    expect(page.get_by_role("button", name="Workspace default: switch").first).to_be_visible()
