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
        assert shared("webhooks", "remove", webhook).code == 0
        assert "no webhooks yet" in shared("webhooks", "list").err


def test_the_url_of_slack_is_no_argument_and_not_shown(shared: Cli) -> None:
    with running_receiver() as receiver:
        added = shared("webhooks", "add", "channel", "--slack", "--json", stdin=f"{receiver.url}/services/T0/hush\n")
        assert added.code == 0, added.err
        assert (added.json["url"], added.json["secret"]) == (f"{receiver.url}/…", None)
        assert shared("webhooks", "test", added.json["id"], "--json").json["status"] == "delivered"
        assert receiver.received[0].path == "/services/T0/hush"
        assert shared("webhooks", "remove", added.json["id"]).code == 0


def test_a_webhook_is_named_by_its_name_or_by_its_id_if_two_have_the_same(shared: Cli) -> None:
    with running_receiver() as receiver:
        first, second = (shared("webhooks", "add", "twin", f"{receiver.url}/hook", "--json").json for _ in range(2))
        refused = shared("webhooks", "test", "twin")
        assert refused.code != 0 and first["id"] in refused.err and second["id"] in refused.err
        assert shared("webhooks", "remove", first["id"]).code == 0
        tested = shared("webhooks", "test", "twin", "--json").json
        assert tested["status"] == "delivered"
        assert tested["id"] in shared("webhooks", "deliveries", "twin").out
        assert shared("webhooks", "resend", "twin", tested["id"], "--json").json["status"] == "delivered"
        assert shared("webhooks", "edit", "twin", "--disable", "--json").json["enabled"] is False
        assert shared("webhooks", "remove", "twin", "--json").json["id"] == second["id"]


def test_adding_a_webhook_without_a_name_or_a_url_says_which_is_missing(shared: Cli) -> None:
    nameless = shared("webhooks", "add", "https://ops.example/hook")
    assert nameless.code != 0 and "has no name" in nameless.err
    nowhere = shared("webhooks", "add", "ops", stdin="")
    assert nowhere.code != 0 and "no URL on standard input" in nowhere.err
