"""Toolkits in a browser: created, checked, given a key, narrowed and removed."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open


def test_a_toolkit_is_created_changed_and_removed(visit: Open, daemon: Daemon, shop: list[Any]) -> None:
    page = visit("/toolkits")
    expect(page.get_by_text("No toolkits yet")).to_be_visible()
    page.get_by_role("button", name="Add a toolkit").click()
    page.get_by_label("Slug").fill("desk")
    page.get_by_role("textbox", name="Tools", exact=True).fill("shop.things..x")
    page.get_by_role("button", name="Create the toolkit").click()
    expect(page.get_by_role("alert")).to_contain_text("segment")
    page.get_by_role("textbox", name="Tools", exact=True).fill("shop.things.*\nshop.nothing.*")
    page.get_by_label("Ask before").fill("shop.things.listThings")
    page.get_by_label("Pass through").fill("shop.**")
    expect(page.get_by_role("dialog")).to_contain_text("executor toolkits add desk")
    page.get_by_role("button", name="Create the toolkit").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("desk")
    expect(page.get_by_role("alert")).to_contain_text("shop.nothing.*")
    expect(page.get_by_role("cell", name="shop_things_createThing")).to_be_visible()
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Tools", exact=True).fill("shop.things.*")
    page.get_by_label("Except").fill("shop.things.createThing")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("cell", name="shop.things.createThing")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)
    kept = daemon.get("/v1/toolkits/desk").json
    assert [(one["pattern"], one["action"]) for one in kept["policies"]] == [
        ("shop.things.createThing", "deny"),
        ("shop.things.listThings", "require_approval"),
    ]
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Remove it and revoke its keys?").click()
    expect(page.get_by_text("No toolkits yet")).to_be_visible()
    assert daemon.get("/v1/toolkits").json["items"] == []


def test_a_key_is_shown_once_and_revoked(visit: Open, daemon: Daemon, shop: list[Any]) -> None:
    assert daemon.post("/v1/toolkits", {"slug": "keys", "patterns": ["shop.**"]}).status == 201
    page = visit("/toolkits/keys")
    page.get_by_label("Name of the new key").fill("page-bot")
    page.get_by_role("button", name="Create the key").click()
    shown = page.get_by_role("status").filter(has_text="shown only once")
    expect(shown).to_contain_text("exa_")
    expect(shown).to_contain_text("/mcp/toolkits/keys")
    token = str(shown.locator("code").first.text_content())
    assert daemon.get("/v1/tools", role=token).status == 200
    shown.get_by_role("button", name="Done").click()
    expect(shown).to_have_count(0)
    assert token not in page.content()
    entry = page.get_by_role("list", name="Keys").get_by_role("listitem")
    entry.get_by_role("button", name="Revoke").click()
    entry.get_by_role("button", name="Really revoke?").click()
    expect(entry).to_contain_text("revoked")
    assert daemon.get("/v1/tools", role=token).status == 401
    daemon.request("DELETE", "/v1/toolkits/keys")
