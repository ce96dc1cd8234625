"""/tools: every tool of all sources, what happens to its calls, and the definitions for an editor."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open

ROWS = '[aria-label="Tools"] li'
NODES = 3_000


def test_filters_are_in_the_address_and_name_what_is_in_force(visit: Open, daemon: Daemon, shop: list[Any]) -> None:
    policy = daemon.post("/v1/policies", {"pattern": "shop.things.createThing", "action": "deny"}).json
    try:
        page = visit("/tools?source=shop")
        expect(page.locator(ROWS)).to_have_count(2)
        page.get_by_label("Policy in force").select_option("deny")
        expect(page.locator(ROWS)).to_have_count(1)
        expect(page.locator(ROWS)).to_contain_text("shop.things.createThing")
        expect(page).to_have_url(re.compile("source=shop.*policy=deny"))
        page.get_by_label("Effect").select_option("read")
        expect(page.get_by_text("Nothing matches these filters")).to_be_visible()
        page.get_by_role("button", name="Clear 3 filters").click()
        page.get_by_role("searchbox", name="Search the tools").fill("LIST things")
        expect(page).to_have_url(re.compile("q="))
        expect(page.locator(ROWS).first).to_contain_text("shop.things.listThings")
        page.reload()
        expect(page.locator(ROWS).first).to_contain_text("shop.things.listThings")
        page.locator(ROWS).first.get_by_role("link").click()
        page.wait_for_url("**/sources/**tool=shop.things.listThings**")
        page.go_back()
        expect(page.get_by_role("searchbox", name="Search the tools")).to_have_value("LIST things")
    finally:
        daemon.request("DELETE", f"/v1/policies/{policy['id']}")


def test_ten_thousand_tools_are_filtered_at_once_and_few_are_in_the_document(visit: Open, many: str) -> None:
    page = visit("/tools?source=many")
    total = page.get_by_role("status").filter(has_text="tools")
    expect(total).not_to_contain_text("loading", timeout=200_000)
    assert int(total.inner_text().split()[0].replace(",", "")) >= 10_000
    assert page.evaluate("document.querySelectorAll('*').length") < NODES
    page.get_by_role("searchbox", name="Search the tools").fill("no such thing anywhere")
    expect(page.get_by_text("Nothing matches these filters")).to_be_visible()
    page.get_by_role("searchbox", name="Search the tools").fill("")
    expect(page.locator(ROWS).first).to_be_visible()


# The live stream opens at the very moment at which the second page is requested, and everything is renewed.
LATE_STREAM = """
const real = window.fetch;
let open;
window.fetch = async (input, init) => {
  const address = String(input.url ?? input);
  if (address.includes("/v1/events") && !open) {
    const stream = await real(input, init);
    return new Promise((resolve) => { open = () => resolve(stream); });
  }
  if (address.includes("/manifest") && /after=./.test(address)) open?.();
  return real(input, init);
};
"""


def test_a_list_that_is_renewed_while_it_loads_is_loaded_whole(visit: Open, many: str) -> None:
    page = visit("/tools?source=many")
    page.add_init_script(LATE_STREAM)
    page.reload()
    total = page.get_by_role("status").filter(has_text="tools")
    expect(total).to_contain_text("10,", timeout=200_000)
    expect(total).not_to_contain_text("loading")


def test_the_manifest_and_the_definitions_are_downloaded(visit: Open, shop: list[Any]) -> None:
    page = visit("/sources/shop?view=manifest")
    expect(page.locator(ROWS)).to_have_count(2)
    with page.expect_download() as saving:
        page.get_by_role("button", name="Download").click()
    assert saving.value.suggested_filename == "shop.manifest.json"
    found = json.loads(Path(saving.value.path()).read_text())
    assert {one["path"] for one in found["items"]} == {"shop.things.createThing", "shop.things.listThings"}
    page.get_by_role("tab", name="Definitions").click()
    text = page.get_by_label("Text of the definitions")
    expect(text).to_contain_text("declare const tools")
    page.get_by_text("Python", exact=True).click()
    expect(text).to_contain_text("class Tools")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Download").click()
    assert saving.value.suggested_filename == "shop.pyi"
    assert "class Group" in Path(saving.value.path()).read_text()


def test_other_names_lead_to_the_right_page(visit: Open, shop: list[Any]) -> None:
    page = visit("/tasks")
    expect(page.get_by_role("heading", level=1, name="Executions")).to_be_visible()
    page.goto("/tools")
    expect(page.get_by_role("heading", level=1, name="Tools")).to_be_visible()
