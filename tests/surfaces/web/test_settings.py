"""Settings: keys, people, sessions, appearance, and what one may not do says who can."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.people import guest
from tests.surfaces.web.test_notifications import STAND_IN


def confirm(row: Any, word: str, sure: str) -> None:
    row.get_by_role("button", name=word, exact=True).click()
    row.get_by_role("button", name=sure).click()


def test_a_key_is_shown_once_with_what_it_may_do_and_revoked(visit: Open, daemon: Daemon) -> None:
    page = visit("/settings?tab=keys")
    page.get_by_label("Name of the new key").fill("laptop")
    page.get_by_label("read everything in the workspace (read)").check()
    page.get_by_label("Expires").select_option("30 days")
    page.get_by_role("button", name="Create the key").click()
    token = page.get_by_role("status").filter(has_text="shown only once").locator("code").inner_text()
    known = daemon.get("/v1/auth/whoami", role=token).json
    assert (known["via"], known["permissions"]) == ("api_key", ["discover", "execute", "read"])
    page.get_by_role("button", name="Done").click()
    page.reload()
    row = page.get_by_role("list", name="API keys").get_by_role("listitem").filter(has_text="laptop")
    expect(row).to_contain_text("expires in 30 days")
    expect(row).to_contain_text("used")
    expect(row).not_to_contain_text("used never")
    assert token not in page.content()
    row.get_by_role("button", name="Revoke", exact=True).click()
    assert daemon.get("/v1/auth/whoami", role=token).status == 200  # the first press only asks
    row.get_by_role("button", name="Really revoke?").click()
    expect(row).to_contain_text("revoked")
    assert daemon.get("/v1/auth/whoami", role=token).status == 401


def test_an_agent_gets_a_token_of_its_own(visit: Open, daemon: Daemon) -> None:
    page = visit("/settings?tab=keys")
    page.get_by_label("Name of the new agent").fill("robot")
    page.get_by_role("button", name="Create the agent").click()
    shown = page.get_by_role("status").filter(has_text="The token of robot")
    token = shown.locator("code").first.inner_text()
    assert daemon.get("/v1/auth/whoami", role=token).json["name"] == "robot"
    shown.get_by_role("tab", name="Codex").click()
    expect(shown.get_by_role("tabpanel")).to_contain_text(f'http_headers = {{ Authorization = "Bearer {token}" }}')
    page.get_by_role("button", name="Done").click()
    confirm(page.get_by_role("listitem").filter(has_text="robot"), "Revoke", "Really revoke?")
    expect(page.get_by_role("listitem").filter(has_text="robot")).to_contain_text("revoked")


def test_a_member_gets_another_role_and_is_removed(visit: Open, daemon: Daemon) -> None:
    theirs = guest(visit, daemon, "member", "Mona")
    page = visit("/settings?tab=people")
    page.get_by_label("Role of Mona").select_option("viewer")
    row = page.get_by_role("list", name="Members").get_by_role("listitem").filter(has_text="Mona")
    expect(row.get_by_role("combobox")).to_have_value("viewer")
    theirs.goto("/settings?tab=people")
    expect(theirs.get_by_text("You can't invite people or change roles. Ask an admin.")).to_be_visible()
    confirm(row, "Remove", "Confirm removal")
    expect(row).to_have_count(0)
    theirs.goto("/executions")
    theirs.wait_for_url("**/sign-in*")


@pytest.mark.parametrize(
    ("tab", "said"),
    [
        ("place", ["You can't rename it. Ask an owner.", "You can't create workspaces. Ask an admin."]),
        ("keys", ["You can't create or revoke agents. Ask an admin."]),
        ("about", ["You can't see the checks of this installation. Ask an admin."]),
    ],
)
def test_what_a_viewer_may_not_do_says_who_can(visit: Open, daemon: Daemon, tab: str, said: list[str]) -> None:
    page = guest(visit, daemon, "viewer", "Vera")
    page.goto(f"/settings?tab={tab}")
    for text in said:
        expect(page.get_by_text(text).first).to_be_visible()
    expect(page.get_by_role("button", name="Rename")).to_have_count(0)
    expect(page.get_by_role("button", name="Create the agent")).to_have_count(0)
    expect(page.get_by_role("list", name="Checks")).to_have_count(0)


def test_one_signs_out_everywhere_else_and_stays_here(visit: Open) -> None:
    other = visit("/executions")
    page = visit("/settings?tab=sessions")
    expect(page.get_by_text("The operator can set")).to_be_visible()
    expect(page.get_by_role("list", name="Sessions").get_by_role("listitem").first).to_contain_text("this browser")
    page.get_by_role("button", name="Sign out everywhere else").click()
    page.get_by_role("button", name="Really sign out").click()
    expect(page.get_by_role("list", name="Sessions").get_by_role("listitem")).to_have_count(1)
    assert other.request.get("/v1/auth/whoami").status == 401
    other.reload()
    other.wait_for_url("**/sign-in*")


def test_the_page_about_tells_versions_layers_and_checks(visit: Open, daemon: Daemon) -> None:
    page = visit("/settings?tab=about")
    status = daemon.get("/v1/status").json
    for shown in (status["version"], status["python"], status["database"]):
        expect(page.get_by_text(shown, exact=True).first).to_be_visible()
    layers = page.get_by_role("list", name="Layers").get_by_role("listitem")
    for name in status["sandbox"]["layers"]:
        expect(layers.filter(has_text=name)).to_contain_text("active")
    checks = page.get_by_role("list", name="Checks").get_by_role("listitem")
    expect(checks.filter(has_text=str(daemon.executor.settings.data_dir)).first).to_be_visible()
    with page.expect_request("**/v1/doctor"):
        page.get_by_role("button", name="Check again").click()


def test_notifications_are_switched_on_only_with_the_browsers_permission(visit: Open) -> None:
    page = visit("/settings?tab=appearance")
    page.add_init_script(STAND_IN)
    page.reload()
    page.get_by_label("Notify me on this desktop").check()
    assert page.evaluate("localStorage.getItem('executor.notices')") == "on"
    page.reload()
    expect(page.get_by_label("Notify me on this desktop")).to_be_checked()
