"""Connecting something: by address, file, command or template; what it would offer; its credential; what failed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.sources.openapi.documents import document
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json, serving
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open

KEY = "canary-1f0c-key"
SERVER = Path(__file__).parents[2] / "sources" / "mcp" / "servers" / "real.py"
LOOK = {"operationId": "look", "tags": ["box"], "summary": "Look into the box"}
FILL = {"operationId": "fill", "tags": ["box"], "summary": "Fill the box"}
KEYED = {
    "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
    "security": [{"key": []}],
}


def box(got: Got, handler: Handler) -> Reply:
    return as_json({"full": True}) if got.headers.get("x-key") == KEY else as_json({"error": "no key"}, 401)


@pytest.fixture
def keyed_service() -> Iterator[Upstream]:
    """An API of which every call needs a key."""
    with serving() as upstream:
        told = document({"/box": {"get": LOOK, "post": FILL}}, servers=[{"url": upstream.url}], **KEYED)
        upstream.routes |= {"/openapi.json": as_json(told), "/box": box}
        yield upstream


def test_an_address_is_previewed_connected_and_given_its_credential_right_there(
    visit: Open, daemon: Daemon, keyed_service: Upstream
) -> None:
    page = visit("/sources/add")
    page.get_by_role("textbox", name="Address").fill(keyed_service.url)  # it leads to the document
    page.get_by_role("button", name="Look").click()
    offer = page.get_by_role("region", name="Available tools")
    expect(offer).to_contain_text("2 tools")
    expect(offer).to_contain_text("Look into the box")
    expect(offer.get_by_role("listitem").filter(has_text="Fill the box")).to_contain_text("write")
    assert "location=" in page.url
    page.get_by_label("Namespace").fill("boxes")
    page.get_by_role("button", name="Connect").click()
    page.wait_for_url("**/sources/add?connected=boxes")
    expect(page.get_by_role("heading", name="3. Connected. Calls need a credential")).to_be_visible()
    page.get_by_label("Header X-Key").fill(KEY)
    page.get_by_role("button", name="Save the credential").click()
    expect(page.get_by_role("heading", name="✓ Connected, with a credential")).to_be_visible()
    page.get_by_role("link", name="See its 2 tools").click()
    page.get_by_role("button", name="look", exact=True).click()
    page.get_by_role("tab", name="Try it").click()
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("region", name="Result")).to_contain_text("full")
    assert KEY not in page.content()
    daemon.request("DELETE", "/v1/sources/boxes")


def test_a_command_runs_only_after_consent_and_shows_its_tools_first(visit: Open, daemon: Daemon) -> None:
    page = visit("/sources/add")
    page.get_by_role("tab", name="Command").click()
    page.get_by_label("Command of an MCP server").fill(f"{sys.executable} {SERVER} stdio")
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_role("button", name="Connect")).to_be_disabled()
    expect(page.get_by_role("button", name="Run it once and show its tools")).to_be_disabled()
    page.get_by_label("Namespace").fill("local")
    page.get_by_label("Run exactly this command on this machine").check()
    page.get_by_role("button", name="Run it once and show its tools").click()
    offer = page.get_by_role("region", name="Available tools")
    expect(offer).to_contain_text("Add two numbers.")
    assert daemon.get("/v1/sources/local").status == 404
    page.get_by_role("button", name="Connect").click()
    page.wait_for_url("**/sources/local")
    page.goto("/sources/local?tool=local.peek&tab=try")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("button", name="Allow once")).to_be_visible()
    asked = daemon.get("/v1/interactions?status=pending").json["items"]
    [approval] = [one for one in asked if one["tool"] == "local.peek"]
    daemon.post(f"/v1/interactions/{approval['id']}/approve")
    expect(page.get_by_role("region", name="Result")).to_contain_text("seen")
    daemon.request("DELETE", "/v1/sources/local")


def test_a_file_is_uploaded_and_connected(visit: Open, daemon: Daemon, tmp_path: Path) -> None:
    file = tmp_path / "things.json"
    file.write_text(json.dumps(document({"/a": {"get": LOOK}}, servers=[{"url": "https://api.example.com"}])))
    page = visit("/sources/add")
    page.get_by_role("tab", name="Document").click()
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_role("alert")).to_contain_text("Choose a file or paste its text")
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_role("region", name="Available tools")).to_contain_text("1 tool")
    page.get_by_label("Namespace").fill("filed")
    page.get_by_role("button", name="Connect").click()
    page.wait_for_url("**/sources/filed")
    assert daemon.get("/v1/sources/filed").json["toolCount"] == 1
    daemon.request("DELETE", "/v1/sources/filed")


def test_what_failed_is_reported_with_its_request_and_what_to_try(visit: Open, keyed_service: Upstream) -> None:
    page = visit("/sources/add")
    address = page.get_by_role("textbox", name="Address")
    address.fill("http://127.0.0.1:9/openapi.json")
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_text("http://127.0.0.1:9/openapi.json").last).to_be_visible()
    expect(page.get_by_text("Is the service running, and is the port right?")).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    del keyed_service.routes["/openapi.json"]
    address.fill(f"{keyed_service.url}/nothing")
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_role("list", name="Attempts")).to_contain_text("graphql")


def test_a_connect_that_fails_names_the_status(visit: Open, keyed_service: Upstream) -> None:
    page = visit("/sources/add")
    page.get_by_role("textbox", name="Address").fill(f"{keyed_service.url}/openapi.json")
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_role("region", name="Available tools")).to_be_visible()
    keyed_service.routes["/openapi.json"] = as_json({}, 500)
    page.get_by_role("button", name="Connect").click()
    expect(page.get_by_text("→ 500")).to_be_visible()


def test_templates_are_found_by_name(visit: Open) -> None:
    page = visit("/sources/add", viewport={"width": 380, "height": 780})
    found = page.get_by_role("list", name="Templates").get_by_role("listitem")
    expect(found.first).to_be_visible()
    page.get_by_label("Search the templates").fill("figma")
    expect(found).to_have_count(1)
    page.get_by_label("Search the templates").fill("no such thing")
    expect(page.get_by_text("No match.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
