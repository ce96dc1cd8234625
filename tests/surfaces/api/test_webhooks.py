"""/v1/webhooks: edits with revisions, a secret that is shown once, and a log of deliveries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier

from tests.support.conditions import wait_for
from tests.support.webhook_receiver import Receiver, running_receiver
from tests.surfaces.api.daemon_server import Daemon


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as receiver:
        yield receiver


@pytest.fixture
def webhook(daemon: Daemon, receiver: Receiver) -> Iterator[Any]:
    added = daemon.post("/v1/webhooks", {"name": "ops", "url": f"{receiver.url}/hook?token=hush"})
    assert added.status == 201, added.body
    yield added.json
    daemon.request("DELETE", f"/v1/webhooks/{added.json['id']}")


def test_a_webhook_is_added_changed_and_removed(daemon: Daemon, receiver: Receiver, webhook: Any) -> None:
    path = f"/v1/webhooks/{webhook['id']}"
    assert webhook["secret"].startswith("whsec_")
    assert (webhook["events"], webhook["enabled"]) == (["interaction.requested"], True)
    assert webhook["url"] == f"{receiver.url}/hook?token=…"
    changed = daemon.request("PATCH", path, {"events": ["execution.*"], "revision": webhook["revision"]})
    assert (changed.status, changed.json["events"]) == (200, ["execution.*"])
    stale = daemon.request("PATCH", path, {"name": "other", "revision": webhook["revision"]})
    assert (stale.status, daemon.get(path).json["name"]) == (409, "ops")
    assert daemon.request("DELETE", path).status == 200
    assert daemon.get(path).status == 404
    noted = {one["type"] for one in daemon.get("/v1/audit?type=webhook.*").json["items"]}
    assert {"webhook.added", "webhook.changed", "webhook.removed"} <= noted


def test_the_secret_is_shown_only_when_it_is_created(daemon: Daemon, webhook: Any) -> None:
    path = f"/v1/webhooks/{webhook['id']}"
    rotated = daemon.post(f"{path}/rotate").json
    assert rotated["secret"] != webhook["secret"]
    daemon.post(f"{path}/test")
    pages = (path, "/v1/webhooks", f"{path}/deliveries", "/v1/audit?type=webhook.*")
    shown = b"".join(daemon.get(page).body for page in pages)
    for secret in (webhook["secret"], rotated["secret"], "hush"):
        assert secret.encode() not in shown


def test_a_test_message_arrives_and_is_sent_again(daemon: Daemon, receiver: Receiver, webhook: Any) -> None:
    path = f"/v1/webhooks/{webhook['id']}/deliveries"
    sent = daemon.post(f"/v1/webhooks/{webhook['id']}/test")
    assert (sent.status, sent.json["type"], sent.json["eventId"]) == (202, "webhook.test", None)
    wait_for(lambda: daemon.get(f"{path}/{sent.json['id']}").json["status"] == "delivered")
    assert daemon.post(f"{path}/{sent.json['id']}/resend").status == 202
    wait_for(lambda: len(receiver.received) == 2)
    assert {one.id for one in receiver.received} == {sent.json["id"]}
    for one in receiver.received:
        Verifier(webhook["secret"]).verify(one.body, one.headers)
    wait_for(lambda: daemon.get(f"{path}?status=pending").json["items"] == [])
    [listed] = daemon.get(f"{path}?limit=1").json["items"]
    assert (listed["responseStatus"], listed["error"]) == (204, None)
    assert daemon.get(f"{path}?limit=1&before={listed['id']}").json == {"items": [], "next": None}
    assert daemon.get(f"{path}/msg_none").status == 404


def test_a_pending_approval_is_sent_with_its_link(
    daemon: Daemon, receiver: Receiver, webhook: Any, shop: list[Any]
) -> None:
    view = daemon.execute('return await tools.shop.things.createThing({name: "hushhush"})')
    [asked] = view["interactions"]
    wait_for(lambda: receiver.received)
    [one] = receiver.received
    assert one.json["data"] == {
        "title": "An approval is pending",
        "subject": "shop.things.createThing",
        "url": f"{daemon.executor.settings.address}/approvals/{asked['id']}",
        "workspaceId": one.json["data"]["workspaceId"],
        "eventId": one.json["data"]["eventId"],
        "executionId": view["executionId"],
        "interactionId": asked["id"],
    }
    daemon.post(f"/v1/interactions/{asked['id']}/deny", {})


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"url": "http://example.com/"}, 400),
        ({"url": "https://example.com/", "events": ["secret.added"]}, 400),
        ({"url": "https://example.com/", "events": []}, 400),
        ({"url": "https://example.com/", "kind": "teams"}, 400),
        ({"url": "http://169.254.169.254/"}, 400),
    ],
)
def test_what_can_not_be_a_webhook_is_refused(daemon: Daemon, body: dict[str, Any], code: int) -> None:
    answer = daemon.post("/v1/webhooks", {"name": "x", **body})
    assert answer.status == code, answer.body


def test_agents_can_not_see_webhooks(daemon: Daemon, webhook: Any) -> None:
    assert daemon.get("/v1/webhooks", role="agent").status == 403
    assert daemon.post("/v1/webhooks", {"name": "x", "url": "https://example.com/"}, role="agent").status == 403


def test_a_new_master_key_keeps_webhooks_working(daemon: Daemon, receiver: Receiver, webhook: Any) -> None:
    assert daemon.post("/v1/secrets/rotate-key").status == 200
    daemon.post(f"/v1/webhooks/{webhook['id']}/test")
    [one] = wait_for(lambda: receiver.received)
    Verifier(webhook["secret"]).verify(one.body, one.headers)
