"""Secrets in a browser: a value goes in, and nothing has it afterwards; what depends on it is named before it goes."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import expect

from tests.surfaces.api.daemon_server import Daemon, running_upstream
from tests.surfaces.web.conftest import Open

VALUE = "canary-93c1f0"


def test_a_secret_is_written_rotated_and_removed_and_never_comes_back(visit: Open, daemon: Daemon) -> None:
    answers: list[str] = []
    page = visit("/secrets")
    page.on(
        "response",
        lambda response: (
            answers.append(response.text()) if "/v1/" in response.url and "events" not in response.url else None
        ),
    )
    page.get_by_role("button", name="Add a secret").click()
    page.get_by_label("Name").fill("not a name")
    entry = page.get_by_label("Value")
    assert (entry.get_attribute("type"), entry.get_attribute("autocomplete")) == ("password", "new-password")
    entry.fill(f"{VALUE}-a")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("is not a valid secret name")
    expect(entry).to_have_value("")
    page.get_by_label("Name").fill("api_key")
    entry.fill(f"{VALUE}-b")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("cell", name="api_key")).to_be_visible()
    page.get_by_role("button", name="Rotate").click()
    page.get_by_label("Value").fill(f"{VALUE}-c")
    page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("No secrets yet")).to_be_visible()
    assert not any(VALUE in text for text in answers)
    assert VALUE not in page.content()
    assert VALUE not in json.dumps(page.evaluate("[{...localStorage}, {...sessionStorage}, location.href]"))


def test_a_secret_names_what_uses_it_and_warns_of_it_before_it_goes(visit: Open, daemon: Daemon) -> None:
    daemon.post("/v1/secrets", {"name": "shared", "value": VALUE})
    with running_upstream() as (address, _):
        daemon.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "keyed"})
        placed = [{"in": "header", "name": "X-Key", "template": "{key}"}]
        wired = {"source": "keyed", "secrets": {"key": "shared"}, "placements": placed, "name": "main"}
        assert daemon.post("/v1/connections", wired).status == 201
        page: Any = visit("/secrets")
        row = page.get_by_role("row").filter(has_text="shared")
        expect(row.get_by_role("link", name="keyed")).to_have_attribute("href", "/sources/keyed/edit")
        expect(row).to_contain_text("main")
        row.get_by_role("button", name="Remove").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("alert")).to_contain_text("keyed main")
        expect(dialog.get_by_text("executor secrets remove shared --force")).to_be_visible()
        dialog.get_by_role("button", name="Keep it").click()
        assert len(daemon.get("/v1/secrets").json["items"]) == 1
        row.get_by_role("button", name="Remove").click()
        dialog.get_by_role("button", name="Remove anyway").click()
        expect(page.get_by_text("No secrets yet")).to_be_visible()
        daemon.request("DELETE", "/v1/sources/keyed")


def test_a_secret_kept_elsewhere_is_only_pointed_at(visit: Open, daemon: Daemon) -> None:
    page = visit("/secrets")
    page.get_by_role("button", name="Add a secret").click()
    page.get_by_label("Name").fill("ci")
    page.get_by_label("Stored in").select_option("environment")
    expect(page.get_by_label("Value")).to_have_count(0)
    page.get_by_label("Reference").fill("EXECUTOR_SECRET_CI")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row").filter(has_text="EXECUTOR_SECRET_CI")).to_contain_text("nothing")
    assert daemon.request("DELETE", "/v1/secrets/ci").status == 200
