"""Webhooks on the page of settings: added, tested, sent again, disabled and removed."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.support.conditions import wait_for
from tests.support.webhook_receiver import running_receiver
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.people import guest


def test_a_webhook_is_added_tested_and_disabled(visit: Open, daemon: Daemon) -> None:
    with running_receiver() as receiver:
        page = visit("/settings?tab=webhooks")
        page.get_by_label("Name of the new webhook").fill("ops")
        page.get_by_label("URL").fill(f"{receiver.url}/hook")
        page.get_by_label("execution.failed").check()
        page.get_by_role("button", name="Add the webhook").click()
        shown = page.get_by_role("status").filter(has_text="shown only once")
        expect(shown.locator("code")).to_contain_text("whsec_")
        secret = shown.locator("code").inner_text()
        page.get_by_role("button", name="Done").click()
        page.reload()
        rows = page.get_by_role("list", name="Webhooks", exact=True)
        expect(rows).to_contain_text("interaction.requested, execution.failed")
        assert secret not in page.content()
        rows.get_by_role("button", name="Send a test").click()
        deliveries = page.get_by_role("list", name="Deliveries of ops")
        expect(deliveries).to_contain_text("delivered")
        expect(deliveries).to_contain_text("response 204")
        deliveries.get_by_role("button", name="Send again").click()
        wait_for(lambda: len(receiver.received) == 2)
        assert len({one.id for one in receiver.received}) == 1
        rows.get_by_role("button", name="Disable").click()
        expect(rows).to_contain_text("disabled")
        expect(rows.get_by_role("button", name="Send a test")).to_be_disabled()
        remove(rows)
        expect(rows).to_contain_text("None yet.")


def remove(rows: Any) -> None:
    rows.get_by_role("button", name="Remove").click()
    rows.get_by_role("button", name="Really remove?").click()


def test_a_private_address_and_a_role_without_permission_are_explained(visit: Open, daemon: Daemon) -> None:
    theirs = guest(visit, daemon, "admin", "Ada")
    theirs.goto("/settings?tab=webhooks")
    theirs.get_by_label("Name of the new webhook").fill("local")
    theirs.get_by_label("URL").fill("http://127.0.0.1:9/")
    theirs.get_by_role("button", name="Add the webhook").click()
    expect(theirs.get_by_text("sending webhooks to a private address").first).to_be_visible()
    viewer = guest(visit, daemon, "viewer", "Vera")
    viewer.goto("/settings?tab=webhooks")
    expect(viewer.get_by_text("You can't see or change webhooks. Ask an admin.")).to_be_visible()
