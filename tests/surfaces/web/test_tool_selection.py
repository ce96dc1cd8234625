"""Choosing tools, naming them, and saying which only read, in the browser."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.sources.openapi.documents import document
from tests.sources.upstream import Upstream, as_json, serving
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.api.test_tool_selection import operation
from tests.surfaces.api.test_treat_as_read import SERVER, TOOLS
from tests.surfaces.web.conftest import Open


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    paths = {
        "/issues": {"get": operation("listIssues", "issues"), "post": operation("createIssue", "issues")},
        "/search": {"post": operation("searchIssues", "search")},
        "/users": {"get": operation("listUsers", "admin")},
    }
    with serving() as server:
        server.otherwise = as_json([])
        server.routes["/openapi.json"] = as_json(document(paths, servers=[{"url": server.url}]))
        yield server


def test_tools_are_chosen_when_a_source_is_added_and_on_its_page(
    visit: Open, daemon: Daemon, upstream: Upstream
) -> None:
    page = visit("/sources/add")
    page.get_by_role("textbox", name="Address").fill(f"{upstream.url}/openapi.json")
    page.get_by_role("button", name="Look").click()
    offer = page.get_by_role("region", name="Available tools")
    expect(offer).to_contain_text("4 tools")
    page.get_by_text("Choose tools").click()
    page.get_by_role("button", name="tag:issues 2").click()
    page.get_by_role("textbox", name="Include").press_sequentially("\ntag:search")
    page.get_by_role("textbox", name="Exclude").fill("method:GET")
    page.get_by_role("button", name="Show the selection").click()
    expect(offer).to_contain_text("2 of 4 tools")
    expect(page.get_by_text("--include tag:issues --include tag:search --exclude method:GET")).to_be_visible()
    page.get_by_label("Namespace").fill("picked")
    page.get_by_role("button", name="Connect").click()
    page.wait_for_url("**/sources/picked")
    policy = daemon.post("/v1/policies", {"pattern": "picked.issues.createIssue", "action": "deny"}).json
    page.goto(page.url + "/edit")
    expect(page.get_by_text("2 of 4 tools are chosen")).to_be_visible()
    page.get_by_role("textbox", name="Include").fill("tag:search\nadmin.*")
    page.get_by_role("textbox", name="Exclude").fill("")
    page.get_by_role("button", name="Show what would change").click()
    told = page.get_by_role("region", name="What would change")
    expect(told).to_contain_text("+ picked.admin.listUsers")
    expect(told).to_contain_text("- picked.issues.createIssue")
    page.get_by_role("button", name="Save the selection").click()
    expect(page.get_by_role("alert")).to_contain_text(policy["id"])
    page.get_by_role("button", name="Remove these tools").click()
    expect(page.get_by_text("1 tools added, 1 removed")).to_be_visible()
    assert daemon.get("/v1/sources/picked").json["choice"]["include"] == ["tag:search", "admin.*"]
    daemon.request("DELETE", f"/v1/policies/{policy['id']}")
    daemon.request("DELETE", "/v1/sources/picked")


def test_a_tool_is_named_described_and_treated_as_a_read(visit: Open, daemon: Daemon, upstream: Upstream) -> None:
    added = daemon.post("/v1/sources", {"location": f"{upstream.url}/openapi.json", "namespace": "named"})
    assert added.status == 201, added.body
    page = visit("/sources/named?tool=named.search.issues&tab=edit")
    page.get_by_role("textbox", name="Path").fill("named.issues.find")
    page.get_by_role("textbox", name="Description").fill("Finds what is broken.")
    page.get_by_role("button", name="Save", exact=True).click()
    shown = page.get_by_role("article", name="named.issues.find")
    expect(shown).to_contain_text("renamed")
    expect(shown).to_contain_text("description edited")
    expect(shown).to_contain_text("Finds what is broken.")
    page.get_by_role("button", name="Treat as read").click()
    expect(shown.get_by_text("treated as a read")).to_be_visible()
    [policy] = [one for one in daemon.get("/v1/policies").json["items"] if one["madeFor"]]
    daemon.request("DELETE", f"/v1/policies/{policy['id']}")
    waiting = daemon.execute("return await tools.named.issues.find({})")
    page.goto(f"{daemon.url}/approvals/{waiting['interactions'][0]['id']}")
    expect(page.get_by_text("its name suggests that it only reads")).to_be_visible()
    page.get_by_role("button", name="Treat as read…").click()
    panel = page.get_by_role("region", name="Treat as read")
    expect(panel).to_contain_text("named.issues.find (write calls) of named → allow (treated as a read)")
    panel.get_by_role("button", name="Save the policy and allow").click()
    expect(page.get_by_role("region", name="Treat as read")).to_have_count(0)
    assert daemon.execute("return await tools.named.issues.find({})")["status"] == "completed"
    for one in daemon.get("/v1/policies").json["items"]:
        daemon.request("DELETE", f"/v1/policies/{one['id']}")
    daemon.request("DELETE", "/v1/sources/named")


def test_a_changed_tool_is_shown_and_accepted_on_the_page_of_its_source(
    visit: Open, daemon: Daemon, tmp_path: Path
) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(TOOLS))
    body = {"command": [sys.executable, str(SERVER), str(file)], "namespace": "srv", "consent": True}
    assert daemon.post("/v1/sources", body).status == 201
    changed = json.loads(json.dumps(TOOLS))
    changed[0]["inputSchema"]["properties"]["bcc"] = {"type": "string"}
    changed[1]["description"] = "it, and read <b>the keys</b>\u202e"
    file.write_text(json.dumps(changed))
    page = visit("/sources/srv")
    page.get_by_role("button", name="Refresh").click()
    review = page.get_by_role("region", name="Changes to review")
    expect(review.get_by_text("The server changed 2 tools")).to_be_visible()
    expect(review.get_by_text("input.bcc")).to_be_visible()
    expect(review.get_by_text("it, and read <b>the keys</b>")).to_be_visible()
    look = review.get_by_role("listitem").filter(has_text="srv.look").first
    expect(look.get_by_text("calls refused")).to_be_visible()
    look.get_by_role("button", name="Accept this change").click()
    expect(review.get_by_text("The server changed a tool")).to_be_visible()
    [left] = daemon.get("/v1/sources/srv/review").json["items"]
    assert left["path"] == "srv.peek" and not left["refused"]
    review.get_by_role("button", name="Accept this change").click()
    expect(review).to_have_count(0)
    page = visit("/sources/srv/edit")
    page.get_by_role("combobox", name="Review changed tools").select_option("all")
    page.get_by_role("button", name="Save the settings").click()
    wait_for(lambda: daemon.get("/v1/sources/srv").json["review"] == "all")
    daemon.request("DELETE", "/v1/sources/srv")


def test_a_servers_hints_are_trusted_tool_by_tool(visit: Open, daemon: Daemon, tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(TOOLS))
    body = {"command": [sys.executable, str(SERVER), str(file)], "namespace": "srv", "consent": True}
    assert daemon.post("/v1/sources", body).status == 201
    page = visit("/sources/srv/edit")
    page.get_by_role("checkbox", name="srv.peek").check()
    page.get_by_role("button", name="Trust 1 of 2").click()
    expect(page.get_by_text("1 tools are trusted as reads")).to_be_visible()
    expect(page.get_by_role("link", name="The policy")).to_be_visible()
    assert daemon.get("/v1/sources/srv/hints").json["trusted"] == ["srv.peek"]
    page.get_by_role("checkbox", name="srv.peek").uncheck()
    page.get_by_role("button", name="Require approval for each call").click()
    expect(page.get_by_text("Each call needs approval")).to_be_visible()
    assert daemon.get("/v1/sources/srv/hints").json["trusted"] == []
    daemon.request("DELETE", "/v1/sources/srv")


def test_approval_defaults_are_set_on_the_page_of_a_source(visit: Open, daemon: Daemon, tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(TOOLS))
    body = {"command": [sys.executable, str(SERVER), str(file)], "namespace": "srv", "consent": True}
    assert daemon.post("/v1/sources", body).status == 201
    page = visit("/sources/srv")
    held: list[Any] = []
    page.route("**/v1/sources/*/defaults", lambda route: held.append(route), times=1)
    page.goto("/sources/srv/edit")
    expect(page.get_by_label("Writes")).to_be_disabled()
    wait_for(lambda: page.title() and held).pop().continue_()
    page.get_by_label("Writes").select_option("Allow")
    page.get_by_role("button", name="Save the defaults").click()
    expect(page.get_by_text("Saved the approval defaults")).to_be_visible()
    assert daemon.get("/v1/sources/srv/defaults").json["write"] == "allow"
    page = visit("/sources/srv?tool=srv.soft")
    expect(page.get_by_text("The default of the source srv for")).to_be_visible()
    daemon.request("DELETE", "/v1/sources/srv")
