"""Adding what shows nothing without a credential, in the browser: it is given there, reads the source, and is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.guarded_service import TOKEN, GuardedService
from tests.support.loopback import Authority, listening
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.test_oauth import with_login_page


@pytest.fixture
def service(daemon: Daemon) -> Iterator[GuardedService]:
    with listening(GuardedService) as service:
        yield service
    daemon.request("DELETE", "/v1/sources/box")


@pytest.fixture
def authority() -> Iterator[Authority]:
    with listening(Authority) as authority:
        with_login_page(authority)
        yield authority


@pytest.fixture
def also_asked(request: pytest.FixtureRequest) -> tuple[str, ...]:
    wanted = "authority" in request.fixturenames
    return (request.getfixturevalue("authority").origin,) if wanted else ()


def look_up(page: Any, address: str) -> None:
    page.get_by_role("textbox", name="Address").fill(address)
    page.get_by_role("button", name="Look").click()


@pytest.mark.parametrize(("path", "kind"), [("/openapi.json", "openapi"), ("/graphql", "graphql"), ("/api", "openapi")])
def test_a_guarded_source_is_opened_previewed_and_connected_with_its_credential(
    visit: Open, daemon: Daemon, service: GuardedService, path: str, kind: str
) -> None:
    page = visit("/sources/add")
    look_up(page, f"{service.origin}{path}")
    guard = page.get_by_role("region", name="Credential")
    expect(guard).to_contain_text("It requires a credential before its tools can be read")
    expect(guard).to_contain_text(f"Sent to {service.origin} and nowhere else")
    entry = guard.get_by_label("Token")
    assert entry.get_attribute("type") == "password"
    entry.fill("mistyped")
    guard.get_by_role("button", name="Show its tools").click()
    expect(page.get_by_text("answered 401").last).to_be_visible()
    entry.fill(TOKEN)
    if path != "/api":  # else it is only typed in, and taken when the source is connected
        guard.get_by_role("button", name="Show its tools").click()
        expect(page.get_by_role("region", name="Available tools")).to_contain_text("tool")
    page.get_by_label("Namespace").fill("box")
    page.get_by_role("button", name="Connect").click()
    page.wait_for_url("**/sources/box")
    source = daemon.get("/v1/sources/box").json
    assert (source["kind"], source["status"], source["toolCount"] > 0) == (kind, "connected", True)
    [connection] = [one for one in daemon.get("/v1/connections").json["items"] if one["source"] == "box"]
    assert connection["origin"] == service.origin
    assert TOKEN not in page.content()
    assert TOKEN not in json.dumps(page.evaluate("[{...localStorage}, {...sessionStorage}, location.href]"))


def test_a_guarded_source_is_connected_first_and_comes_alive_with_a_header_of_its_own(
    visit: Open, daemon: Daemon, service: GuardedService
) -> None:
    service.silent = True
    page = visit("/sources/add")
    look_up(page, f"{service.origin}/graphql")
    page.get_by_label("Namespace").fill("box")
    page.get_by_role("button", name="Connect").click()
    expect(page.get_by_role("heading", name="3. Connected. Its tools need a credential")).to_be_visible()
    page.get_by_label("How").select_option(label="another header")
    page.get_by_role("textbox", name="Header").fill("Authorization")
    page.get_by_label("Value").fill(f"Bearer {TOKEN}")
    page.get_by_role("button", name="Save the credential").click()
    expect(page.get_by_role("heading", name="✓ Connected, with a credential")).to_be_visible()
    expect(page.get_by_role("link", name="See its")).not_to_contain_text(" 0 tools")
    assert not daemon.get("/v1/sources/box").json["unread"]


def test_a_source_that_wants_a_login_is_connected_logged_in_to_and_read(
    visit: Open, daemon: Daemon, authority: Authority
) -> None:
    with listening(lambda origin: GuardedService(origin, authority)) as service:
        page = visit("/sources/add")
        look_up(page, f"{service.origin}/openapi.json")
        expect(page.get_by_role("region", name="Credential")).to_contain_text("then sign in at the service")
        page.get_by_label("Namespace").fill("box")
        page.get_by_role("button", name="Connect").click()
        page.get_by_role("button", name="Sign in at the service").click()
        page.get_by_label(f"I know {authority.origin}").check()
        page.get_by_role("button", name="Sign in at the service").click()
        page.get_by_role("button", name="Allow Executor").click()
        page.get_by_role("link", name="Back to Executor").click()
        page.wait_for_url("**/sources/add?connected=box")
        expect(page.get_by_role("link", name="See its 1 tools")).to_be_visible()
        daemon.request("DELETE", "/v1/sources/box")


def test_an_addition_from_code_gets_its_credential_on_its_page(
    visit: Open, daemon: Daemon, service: GuardedService
) -> None:
    code = f'return await tools.executor.sources.add({{endpoint: "{service.origin}/mcp", namespace: "box"}})'
    view = daemon.execute(code)
    [approval] = view["interactions"]
    page = visit(f"/approvals/{approval['id']}")
    page.get_by_role("button", name="Allow once").click()
    expect(page.get_by_text("Needs a credential").or_(page.get_by_role("link", name="Enter")).first).to_be_visible()
    [asked] = daemon.get(f"/v1/executions/{view['executionId']}").json["interactions"]
    page.goto(f"/connect/{asked['id']}")
    expect(page.get_by_text("and nowhere else")).to_contain_text(service.origin)
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Save and continue").click()
    expect(page.get_by_text("Credential saved. The execution is resuming")).to_be_visible()
    ended = daemon.get(f"/v1/executions/{view['executionId']}?wait=60").json
    assert (ended["status"], ended["result"]["toolCount"]) == ("completed", 1)
