from __future__ import annotations

import time
from typing import Any

import click

from executor.errors import InvalidRequest
from executor.surfaces.cli.client import Client, connect, segment
from executor.surfaces.cli.main import group
from executor.surfaces.cli.output import clean, emit, emit_json, emit_page, emit_result, facts, say
from executor.surfaces.cli.prompts import secret_input

COLUMNS = {"id": "ID", "name": "NAME", "kind": "KIND", "state": "STATE", "pending": "PENDING", "url": "URL"}
DELIVERY_COLUMNS = {
    "id": "ID",
    "type": "TYPE",
    "status": "STATUS",
    "attempts": "ATTEMPTS",
    "responseStatus": "RESPONSE",
    "attemptedAt": "LAST ATTEMPT",
    "error": "ERROR",
}
TEST_SECONDS = 30.0
PAUSE_SECONDS = 0.2
events_option = click.option("--event", "events", multiple=True, help="Type of event, or `noun.*`. Repeat for several.")

command = group("webhooks")


@command.command("add")
@click.argument("name")
@click.argument("url", required=False)
@events_option
@click.option("--slack", is_flag=True, help="Send messages that Slack understands, unsigned.")
def add(name: str, url: str | None, events: tuple[str, ...], slack: bool, as_json: bool) -> None:
    """Add a webhook, by default for requests that need a decision. Prints its secret once.

    Without URL it is prompted for, or read from standard input: Slack's URLs are credentials.
    """
    if url is None and "://" in name:
        raise InvalidRequest("the webhook has no name", hint=f"pass a name before the URL: ops {name}")
    url = url or secret_input.whole_input("URL")
    if not url:
        raise InvalidRequest("there is no URL on standard input", hint="pass it after the name, or pipe it in")
    body: dict[str, Any] = {"name": name, "url": url, "events": list(events)}
    body |= {"kind": "slack"} if slack else {}
    added = connect().post("/v1/webhooks", {key: value for key, value in body.items() if value})
    emit_secret(added, f"added {clean(added['id'])} for {clean(', '.join(added['events']))}", as_json)


@command.command("list")
def listing(as_json: bool) -> None:
    """List webhooks."""
    page = connect().get("/v1/webhooks")
    rows = [{**one, "state": state_of(one)} for one in page["items"]]
    emit_page(page, COLUMNS, as_json, rows=rows, empty="no webhooks yet")


@command.command("show")
@click.argument("webhook_id", metavar="WEBHOOK")
def show(webhook_id: str, as_json: bool) -> None:
    """Show a webhook."""
    found = connect().get(f"/v1/webhooks/{segment(webhook_id)}")
    if as_json:
        emit_json(found)
        return
    shown = ("id", "name", "kind", "url", "pending", "revision", "createdAt", "failingSince", "disabledReason")
    pairs = [("state", state_of(found)), ("events", ", ".join(found["events"])), *((key, found[key]) for key in shown)]
    emit(facts(pairs))


@command.command("edit")
@click.argument("webhook_id", metavar="WEBHOOK")
@click.option("--name", help="New name.")
@click.option("--url", help="New URL; `-` to be prompted for it.")
@events_option
@click.option("--enable/--disable", "enabled", default=None, help="Whether messages are sent.")
@click.option("--revision", type=int, help="Change it only if it still has this revision.")
def edit(webhook_id: str, url: str | None, events: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Change a webhook. Options you leave out stay as they are; --event replaces all events."""
    url = secret_input.whole_input("URL") if url == "-" else url
    body = {name: value for name, value in {**given, "url": url}.items() if value is not None}
    body |= {"events": list(events)} if events else {}
    changed = connect().patch(f"/v1/webhooks/{segment(webhook_id)}", body)
    emit_result(changed, f"changed {clean(changed['id'])}, now {state_of(changed)}", as_json)


@command.command("remove")
@click.argument("webhook_id", metavar="WEBHOOK")
def remove(webhook_id: str, as_json: bool) -> None:
    """Remove a webhook with its deliveries."""
    removed = connect().delete(f"/v1/webhooks/{segment(webhook_id)}")
    emit_result(removed, f"removed {clean(removed['name'])}", as_json)


@command.command("rotate")
@click.argument("webhook_id", metavar="WEBHOOK")
def rotate(webhook_id: str, as_json: bool) -> None:
    """Create a new secret and print it once. The old one is valid for 24 more hours."""
    rotated = connect().post(f"/v1/webhooks/{segment(webhook_id)}/rotate")
    emit_secret(rotated, f"rotated the secret of {clean(rotated['name'])}", as_json)


@command.command("test")
@click.argument("webhook_id", metavar="WEBHOOK")
def test(webhook_id: str, as_json: bool) -> None:
    """Send a test message and show how the endpoint answered."""
    client = connect()
    delivery = client.post(f"/v1/webhooks/{segment(webhook_id)}/test")
    emit_delivery(client, webhook_id, delivery, as_json)


@command.command("deliveries")
@click.argument("webhook_id", metavar="WEBHOOK")
@click.option("--status", type=click.Choice(("pending", "delivered", "failed")), help="Only those with this status.")
@click.option("--before", default="", help="Only those before this delivery.")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True, help="How many at most.")
def deliveries(webhook_id: str, status: str | None, before: str, limit: int, as_json: bool) -> None:
    """List deliveries, newest first."""
    query: dict[str, Any] = {"before": before, "limit": limit, **({"status": status} if status else {})}
    page = connect().get(f"/v1/webhooks/{segment(webhook_id)}/deliveries", **query)
    emit_page(page, DELIVERY_COLUMNS, as_json, empty="no deliveries yet")


@command.command("resend")
@click.argument("webhook_id", metavar="WEBHOOK")
@click.argument("delivery_id", metavar="DELIVERY")
def resend(webhook_id: str, delivery_id: str, as_json: bool) -> None:
    """Send a message again, with the same webhook-id, and show how the endpoint answered."""
    client = connect()
    path = f"/v1/webhooks/{segment(webhook_id)}/deliveries/{segment(delivery_id)}/resend"
    emit_delivery(client, webhook_id, client.post(path), as_json)


def state_of(webhook: dict[str, Any]) -> str:
    if not webhook["enabled"]:
        return "disabled"
    return "failing" if webhook["failingSince"] else "enabled"


def emit_secret(webhook: dict[str, Any], text: str, as_json: bool) -> None:
    """The secret alone is the result, so that it can be piped to where it is kept."""
    if as_json:
        emit_json(webhook)
        return
    say(text)
    if webhook["secret"]:
        say("its secret, shown only once:")
        emit(clean(webhook["secret"]))


def emit_delivery(client: Client, webhook_id: str, delivery: dict[str, Any], as_json: bool) -> None:
    """After its first attempt, if that comes soon."""
    ends = time.monotonic() + TEST_SECONDS
    path = f"/v1/webhooks/{segment(webhook_id)}/deliveries/{segment(delivery['id'])}"
    while not delivery["attempts"] and delivery["status"] == "pending" and time.monotonic() < ends:
        time.sleep(PAUSE_SECONDS)
        delivery = client.get(path)
    answered = f", response {delivery['responseStatus']}" if delivery["responseStatus"] else ""
    why = f": {clean(delivery['error'])}" if delivery["error"] else ""
    emit_result(delivery, f"{clean(delivery['id'])} {clean(delivery['status'])}{answered}{why}", as_json)
