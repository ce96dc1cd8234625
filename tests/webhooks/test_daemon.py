"""Webhooks of a real daemon: killed at any moment it loses no message, and repeats one only under the same id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from standardwebhooks import Webhook as Verifier

from tests.support.conditions import wait_for
from tests.support.daemon import Daemon
from tests.support.sessions import Session
from tests.support.webhook_receiver import Received, Reply, running_receiver

ROUNDS = 3
EACH = 8


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path / "daemon")
    (tmp_path / "daemon").mkdir()
    daemon.start()
    yield daemon
    daemon.stop()


def submit(daemon: Daemon, count: int) -> None:
    for _ in range(count):
        daemon.post("/v1/executions", {"code": "return 1 + 1"})


def list_completed(daemon: Daemon) -> set[str]:
    page = daemon.get("/v1/audit?type=execution.completed&limit=500")
    return {str(one["id"]) for one in page["items"]}


def test_a_daemon_killed_between_event_and_delivery_loses_nothing(daemon: Daemon) -> None:
    with running_receiver() as receiver:

        def wait(one: Received) -> Reply:
            receiver.released.wait(240)
            return 204, {}, b""

        receiver.reply = wait
        body = {"name": "ops", "url": receiver.url, "events": ["execution.completed"]}
        webhook = daemon.post("/v1/webhooks", body)
        submit(daemon, EACH)
        wait_for(lambda: receiver.received)
        for _ in range(ROUNDS):  # nothing has been answered so far, and more happens before each kill
            daemon.kill()
            daemon.start()
            submit(daemon, EACH)
        receiver.released.set()
        expected = list_completed(daemon)
        assert len(expected) == EACH * (ROUNDS + 1)
        wait_for(lambda: {one.json["data"]["eventId"] for one in receiver.received} == expected)
        wait_for(lambda: daemon.get(f"/v1/webhooks/{webhook['id']}")["pending"] == 0)
        ids = defaultdict(set)
        for one in receiver.received:
            Verifier(webhook["secret"]).verify(one.body, one.headers)
            ids[one.json["data"]["eventId"]].add(one.id)
        assert {len(found) for found in ids.values()} == {1}
        assert webhook["secret"] not in daemon.log.read_text()
        assert not any(
            webhook["secret"].removeprefix("whsec_").encode() in file.read_bytes()
            for folder in (daemon.data_dir, daemon.state_dir)
            for file in folder.rglob("*")
            if file.is_file()
        )


def test_a_request_of_an_unattended_session_is_sent_while_it_waits(daemon: Daemon, tmp_path: Path) -> None:
    with running_receiver() as receiver:
        daemon.post("/v1/webhooks", {"name": "phone", "url": receiver.url, "events": ["interaction.requested"]})
        slack = {"name": "channel", "url": f"{receiver.url}/services/x", "kind": "slack"}
        daemon.post("/v1/webhooks", slack)
        folder = tmp_path / "work"
        folder.mkdir()
        session = Session(daemon, folder, unattended="wait")
        task = session.send({"bash": "touch done"})
        wait_for(lambda: len(receiver.received) == 2)
        [message] = receiver.of_type("interaction.requested")
        asked = session.asked()
        data = message.json["data"]
        assert (data["title"], data["subject"]) == ("An agent requests permission", "agent.bash")
        assert (data["sessionId"], data["interactionId"]) == (session.id, asked["id"])
        assert data["url"] == f"{daemon.url}/approvals/{asked['id']}"
        assert all(b"touch done" not in one.body for one in receiver.received)
        daemon.post(f"/v1/interactions/{asked['id']}/deny")
        session.end_of(task)
