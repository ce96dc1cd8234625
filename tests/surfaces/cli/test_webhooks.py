"""Webhooks on the command line."""

from __future__ import annotations

from tests.support.webhook_receiver import running_receiver
from tests.surfaces.cli.conftest import Cli


def test_a_webhook_is_added_tested_changed_and_removed(shared: Cli) -> None:
    with running_receiver() as receiver:
        added = shared("webhooks", "add", "ops", f"{receiver.url}/hook", "--event", "interaction.*", "--json")
        assert added.code == 0, added.err
        webhook = added.json["id"]
        tested = shared("webhooks", "test", webhook, "--json")
        assert (tested.json["status"], tested.json["responseStatus"]) == ("delivered", 204), tested.err
        assert receiver.received[0].id == tested.json["id"]
        assert "delivered" in shared("webhooks", "resend", webhook, tested.json["id"]).out
        assert tested.json["id"] in shared("webhooks", "deliveries", webhook).out
        rotated = shared("webhooks", "rotate", webhook)
        assert rotated.out.startswith("whsec_")
        assert rotated.out.strip() != added.json["secret"]
        edited = shared("webhooks", "edit", webhook, "--disable", "--name", "later", "--json")
        assert (edited.json["name"], edited.json["enabled"], edited.json["events"]) == (
            "later",
            False,
            ["interaction.*"],
        )
        assert "disabled" in shared("webhooks", "list").out
        assert "later" in shared("webhooks", "show", webhook).out
        refused = shared("webhooks", "edit", webhook, "--enable", "--revision", "1")
        assert refused.code != 0
        assert "changed meanwhile" in refused.err
        assert shared("webhooks", "rm", webhook).code == 0
        assert "no webhooks yet" in shared("webhooks", "list").err


def test_the_url_of_slack_is_no_argument_and_not_shown(shared: Cli) -> None:
    with running_receiver() as receiver:
        added = shared("webhooks", "add", "channel", "--slack", "--json", stdin=f"{receiver.url}/services/T0/hush\n")
        assert added.code == 0, added.err
        assert (added.json["url"], added.json["secret"]) == (f"{receiver.url}/…", None)
        assert shared("webhooks", "test", added.json["id"], "--json").json["status"] == "delivered"
        assert receiver.received[0].path == "/services/T0/hush"
        assert shared("webhooks", "rm", added.json["id"]).code == 0
