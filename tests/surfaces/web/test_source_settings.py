"""Editing a source in the browser: what ends is shown before anything changes."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.sources.mcp.conftest import REAL
from tests.sources.upstream import Upstream, serving
from tests.support.notes import DONE, Notes
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.people import guest

SECRET = "canary-51aa"


def serve_notes(server: Upstream, *names: str) -> str:
    made = Notes(server.url)
    made.more = {f"/{name}": {"get": {"tags": ["n"], "operationId": name, "responses": DONE}} for name in names}
    server.otherwise = made
    return server.url


@pytest.fixture
def places(daemon: Daemon) -> Iterator[tuple[str, str]]:
    """A source `moving` at the first of two addresses."""
    with serving() as first, serving() as second:
        urls = serve_notes(first, "look"), serve_notes(second, "look", "fresh")
        body = {"location": f"{urls[0]}/openapi.json", "kind": "openapi", "namespace": "moving"}
        assert daemon.post("/v1/sources", {**body, "headers": {"X-Key": SECRET}}).status == 201
        yield urls
        daemon.request("DELETE", "/v1/sources/moving")


def test_a_new_address_is_previewed_agreed_to_and_saved(visit: Open, daemon: Daemon, places: tuple[str, str]) -> None:
    page = visit("/sources/moving/edit")
    page.get_by_role("textbox", name="Address", exact=True).fill(f"{places[1]}/openapi.json")
    page.get_by_role("button", name="Preview the settings").click()
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("+ moving.n.fresh")
    expect(preview).to_contain_text(f"calls go to {places[1]} instead of {places[0]}")
    expect(page.get_by_text(f"executor sources edit moving {places[1]}/openapi.json")).to_be_visible()
    page.get_by_role("button", name="Save the settings").click()
    warning = page.get_by_role("alert")
    expect(warning).to_contain_text("values of headers (X-Key)")
    assert daemon.get("/v1/sources/moving").json["baseUrl"] == places[0]
    warning.get_by_role("button", name="Change it").click()
    expect(page.get_by_text("Saved the settings")).to_be_visible()
    expect(page.get_by_role("textbox", name="Base URL")).to_have_value(places[1])
    found = daemon.get("/v1/sources/moving").json
    assert (found["baseUrl"], found["headers"]) == (places[1], [])


def test_headers_are_changed_by_their_names_and_never_shown(
    visit: Open, daemon: Daemon, places: tuple[str, str]
) -> None:
    page = visit("/sources/moving/edit")
    page.get_by_label("Value of X-Key").fill(f"{SECRET}-2")
    page.get_by_role("button", name="Add a header").click()
    page.get_by_label("Name of the header").fill("X-Team")
    page.get_by_label("Value of X-Team").fill("a")
    page.get_by_label("Refresh", exact=True).select_option("3600")
    page.get_by_role("button", name="Save the settings").click()
    page.get_by_role("button", name="Change it").click()
    expect(page.get_by_text("Saved the settings")).to_be_visible()
    found = daemon.get("/v1/sources/moving").json
    assert (found["headers"], found["refreshSeconds"]) == (["X-Key", "X-Team"], 3600)
    expect(page.get_by_label("Value of X-Key")).to_have_value("")
    assert SECRET not in page.content()
    page.get_by_role("button", name="Remove X-Team").click()
    page.get_by_role("button", name="Save the settings").click()
    page.get_by_role("button", name="Change it").click()
    expect(page.get_by_label("Value of X-Team")).to_have_count(0)
    assert daemon.get("/v1/sources/moving").json["headers"] == ["X-Key"]


def test_what_someone_else_changed_meanwhile_is_not_overwritten(
    visit: Open, daemon: Daemon, places: tuple[str, str]
) -> None:
    page = visit("/sources/moving/edit")
    field = page.get_by_role("textbox", name="Base URL")
    expect(field).to_have_value(places[0])
    page.route("**/v1/sources/moving", lambda route: route.continue_() if route.request.method == "PATCH" else None)
    page.route("**/v1/events**", lambda route: route.abort())
    body = {"baseUrl": f"{places[0]}/v2", "consent": True}
    assert daemon.request("PATCH", "/v1/sources/moving", body).status == 200
    field.fill(f"{places[0]}/v3")
    page.get_by_role("button", name="Save the settings").click()
    expect(page.get_by_text("changed by someone else")).to_be_visible()
    assert daemon.get("/v1/sources/moving").json["baseUrl"] == f"{places[0]}/v2"


def test_an_address_that_can_not_be_read_changes_nothing(visit: Open, daemon: Daemon, places: tuple[str, str]) -> None:
    page = visit("/sources/moving/edit")
    page.get_by_role("textbox", name="Address", exact=True).fill("http://127.0.0.1:9/openapi.json")
    page.get_by_role("button", name="Save the settings").click()
    expect(page.get_by_role("alert").filter(has_text="127.0.0.1:9")).to_be_visible()
    found = daemon.get("/v1/sources/moving").json
    assert (found["status"], found["baseUrl"]) == ("connected", places[0])


def test_a_command_is_for_the_operator_alone(visit: Open, daemon: Daemon) -> None:
    body = {"command": [sys.executable, str(REAL), "stdio"], "namespace": "ran", "consent": True}
    assert daemon.post("/v1/sources", body).status == 201
    try:
        page = visit("/sources/ran/edit")
        page.get_by_role("button", name="Add a variable").click()
        page.get_by_label("Name of the variable").fill("TEAM")
        page.get_by_label("Value of TEAM").fill("a")
        page.get_by_role("button", name="Save the settings").click()
        expect(page.get_by_role("alert")).to_contain_text("this runs on this machine")
        page.get_by_role("button", name="Change it").click()
        expect(page.get_by_text("Saved the settings")).to_be_visible()
        assert daemon.get("/v1/sources/ran").json["environment"] == ["TEAM"]
        admin = guest(visit, daemon, "admin", "Ada")
        admin.goto("/sources/ran/edit")
        expect(admin.get_by_text("only its operator can change how")).to_be_visible()
        expect(admin.get_by_label("Command", exact=True)).to_have_count(0)
    finally:
        daemon.request("DELETE", "/v1/sources/ran")
