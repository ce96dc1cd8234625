"""Policies and the sources that they were not made for, as a person meets them in the browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.sources.upstream import serving
from tests.support.conditions import wait_for
from tests.support.notes import Notes
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open

CALL = "return await tools.jotter.n.add({text: 'x'})"


@pytest.fixture
def notes(daemon: Daemon) -> Iterator[Notes]:
    before = {policy["id"] for policy in daemon.get("/v1/policies").json["items"]}
    with serving() as upstream:
        upstream.otherwise = made = Notes(upstream.url)
        yield made
    daemon.request("DELETE", "/v1/sources/jotter")
    for policy in daemon.get("/v1/policies").json["items"]:
        if policy["id"] not in before:
            daemon.request("DELETE", f"/v1/policies/{policy['id']}")


def allow(daemon: Daemon) -> None:
    made = daemon.post("/v1/policies", {"pattern": "jotter.**", "action": "allow", "effect": "write"})
    assert made.status == 201, made.body


def add(daemon: Daemon, notes: Notes) -> None:
    body = {"location": f"{notes.url}/openapi.json", "namespace": "jotter", "kind": "openapi"}
    added = daemon.post("/v1/sources", body)
    assert added.status == 201, added.body


def connect(page: Any, notes: Notes) -> Any:
    """Up to the review of what was found, whose form is returned."""
    page.get_by_role("textbox", name="Address").fill(f"{notes.url}/openapi.json")
    page.get_by_role("button", name="Look").click()
    form = page.locator("form").last
    form.get_by_label("Namespace").fill("jotter")
    return form


@pytest.mark.parametrize("ticked", [True, False], ids=["with consent", "without"])
def test_a_new_source_says_which_policies_would_cover_it_and_inherits_them_only_by_a_tick(
    visit: Open, daemon: Daemon, notes: Notes, ticked: bool
) -> None:
    allow(daemon)
    page = visit("/sources/add")
    form = connect(page, notes)
    expect(form).to_contain_text("They don't apply to a new source")
    expect(form).to_contain_text("jotter.**")
    consent = form.get_by_label("Apply these policies to this source")
    expect(consent).not_to_be_checked()
    if ticked:
        consent.check()
    form.get_by_role("button", name="Connect").click()
    page.wait_for_url("**/sources/jotter*")
    view = daemon.execute(CALL, wait=60)
    assert view["status"] == ("completed" if ticked else "paused")
    assert len(notes.sent) == ticked


def test_a_policy_that_a_later_source_did_not_inherit_says_so_and_is_let_hold(
    visit: Open, daemon: Daemon, notes: Notes
) -> None:
    allow(daemon)
    add(daemon, notes)
    view = daemon.execute(CALL)
    assert view["status"] == "paused"
    daemon.post(f"/v1/executions/{view['executionId']}/cancel")
    page = visit("/policies")
    row = page.get_by_role("listitem").filter(has_text="jotter.**")
    expect(row).to_contain_text("It does not apply to jotter, added later.")
    row.get_by_role("button", name="Apply it").click()
    expect(row).not_to_contain_text("It does not apply")
    assert daemon.execute(CALL, wait=60)["status"] == "completed"


def test_a_changed_tool_shows_what_changed_since_always_was_given(visit: Open, daemon: Daemon, notes: Notes) -> None:
    add(daemon, notes)
    [first] = daemon.execute(CALL)["interactions"]
    page = visit(f"/approvals/{first['id']}")
    expect(page.get_by_role("region", name="What changed")).to_have_count(0)
    assert daemon.post(f"/v1/interactions/{first['id']}/approve", {"scope": "always"}).status == 200
    wait_for(lambda: len(notes.sent) == 1)
    notes.fields = {**notes.fields, "grantAdminTo": {"type": "string"}}
    assert daemon.post("/v1/sources/jotter/refresh").status == 200
    [again] = daemon.execute(CALL)["interactions"]
    page.goto(f"/approvals/{again['id']}")
    changed = page.get_by_role("region", name="What changed")
    expect(changed).to_contain_text("This tool has changed since the policy")
    expect(changed.get_by_role("listitem").filter(has_text="grantAdminTo").locator("ins").first).to_have_text("string")
    page.get_by_role("button", name="Allow once").click()
    wait_for(lambda: len(notes.sent) == 2)


def test_the_page_of_a_tool_shows_every_policy_that_could_decide_it(visit: Open, daemon: Daemon, notes: Notes) -> None:
    add(daemon, notes)
    lem = {"path": "/text", "test": "equals", "value": "Lem"}
    for policy in (
        {"pattern": "jotter.n.*", "action": "allow", "conditions": [lem]},
        {"pattern": "jotter.**", "action": "deny", "actor": "agent"},
        {"pattern": "jotter.**", "action": "deny", "effect": "destructive"},
    ):
        assert daemon.post("/v1/policies", policy).status == 201
    page = visit("/sources/jotter?tool=jotter.n.add")
    policies = page.get_by_role("region", name="Policies for this tool").get_by_role("listitem")
    expect(policies).to_have_count(3)
    expect(policies.nth(0)).to_contain_text('allowjotter.n.* when /text="Lem"')
    expect(policies.nth(1)).to_contain_text("denyjotter.**")
    expect(policies.nth(1)).to_contain_text("by agent")
    expect(policies.nth(2)).to_contain_text("askOtherwise")
    daemon.post("/v1/policies", {"pattern": "jotter.**", "action": "allow", "position": 0})
    expect(policies).to_have_count(0)  # one policy takes every call now
    expect(page.get_by_role("article")).to_contain_text("The policy jotter.** allows it")
