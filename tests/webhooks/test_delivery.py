"""Deliveries: signed, retried, and never in each other's way. A real receiver verifies with a library of others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import event
from standardwebhooks import Webhook as Verifier

from executor.errors import Conflict, EgressRefused, Forbidden, InvalidRequest
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import ADMIN, OPERATOR
from executor.model.webhook import Delivery
from executor.network.client import Egress
from executor.secrets.master import FileKeeper
from executor.secrets.master_keys import KeptKeys
from executor.secrets.sealing import Sealing
from executor.storage import migrate
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.feed import Feed
from executor.storage.identity import tenancy
from executor.storage.webhooks import deliveries, webhooks
from executor.webhooks import outbox, worker
from executor.webhooks.attempts import Terms
from executor.webhooks.webhooks import Change, Webhooks
from tests.support.conditions import until
from tests.support.webhook_receiver import Received, Receiver, Reply, running_receiver

SOON = Terms(schedule=(0.01, 0.01, 0.01), patience=3600, seconds=600)


class Setting:
    """A database and webhooks over it, which can be closed and opened again like a daemon."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.terms = SOON

    async def open(self) -> None:
        self.database = Database(migrate.ready(self.root / "executor.db"))
        found = await self.database.write(tenancy.provision)
        self.operator = replace(found.operator, permissions=OPERATOR)
        self.admin: Actor = replace(found.operator, permissions=ADMIN)
        self.feed = Feed(self.database)
        sealing = Sealing(KeptKeys(FileKeeper(self.root)))
        self.webhooks = Webhooks(self.database, self.feed, sealing, Egress(), lambda: "http://here", self.terms)
        await self.webhooks.start()

    async def close(self) -> None:
        await self.webhooks.close()
        self.feed.close()
        await self.database.close()

    async def happen(self, count: int = 1, type: str = "interaction.requested") -> None:
        data = {"id": "int_1", "kind": "approval", "tool": "shop.orders.create"}
        workspace_id = self.operator.workspace_id
        await self.database.write(lambda c: events.append_all(c, workspace_id, "exec_1", [(type, data)] * count))

    async def add(self, url: str, **more: Any) -> tuple[str, str]:
        given = {"name": "ops", "kind": "standard", "chosen": ["interaction.*"], **more}
        added, secret = await self.webhooks.add(self.operator, url=url, **given)
        return added.id, secret

    async def log(self, webhook_id: str, status: Any = None) -> list[Delivery]:
        return await self.webhooks.list_deliveries(self.operator, webhook_id, status=status, limit=10_000)


@pytest_asyncio.fixture
async def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Setting]:
    monkeypatch.setattr(worker, "PAUSE_SECONDS", 0.01)
    setting = Setting(tmp_path)
    await setting.open()
    yield setting
    await setting.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as receiver:
        yield receiver


async def test_an_event_arrives_signed_once_and_is_logged(setting: Setting, receiver: Receiver) -> None:
    webhook_id, secret = await setting.add(f"{receiver.url}/hook?token=t")
    await setting.happen()
    await setting.happen(type="execution.completed")
    [done] = await until(lambda: setting.log(webhook_id, "delivered"))
    [one] = receiver.received
    assert Verifier(secret).verify(one.body, one.headers)["data"]["interactionId"] == "int_1"
    assert (one.path, one.id, one.headers["content-type"]) == ("/hook?token=t", done.id, "application/json")
    assert (done.attempts, done.response_status, done.error) == (1, 204, "")


async def test_a_message_is_retried_with_the_same_id(setting: Setting, receiver: Receiver) -> None:
    answers = iter([(500, {}, b""), (429, {"Retry-After": "0"}, b""), (204, {}, b"")])
    receiver.reply = lambda one: next(answers)
    webhook_id, secret = await setting.add(receiver.url)
    await setting.happen()
    [done] = await until(lambda: setting.log(webhook_id, "delivered"))
    assert done.attempts == 3
    assert {one.id for one in receiver.received} == {done.id}
    for one in receiver.received:
        Verifier(secret).verify(one.body, one.headers)
    assert (await setting.webhooks.show(setting.operator, webhook_id)).webhook.failing_since is None


async def test_a_dead_endpoint_is_disabled_with_a_notice_and_starts_afresh_when_enabled(
    setting: Setting, receiver: Receiver
) -> None:
    setting.webhooks._parts = replace(setting.webhooks._parts, terms=replace(SOON, patience=0.05))
    receiver.reply = lambda one: (503, {}, b"")
    webhook_id, _ = await setting.add(receiver.url)
    await setting.happen(3)

    async def is_disabled() -> bool:
        return not (await setting.webhooks.show(setting.operator, webhook_id)).webhook.enabled

    await until(is_disabled)
    found = await setting.database.read(
        lambda c: events.of_types(c, setting.operator.workspace_id, ["webhook.disabled"], after=0, limit=9)
    )
    assert [one.data["id"] for one in found] == [webhook_id]
    assert {one.status for one in await setting.log(webhook_id)} == {"failed"}
    with pytest.raises(Conflict):
        await setting.webhooks.send_test(setting.operator, webhook_id)
    await setting.happen()
    receiver.reply = lambda one: (200, {}, b"")
    await setting.webhooks.change(setting.operator, webhook_id, Change(enabled=True))
    await setting.happen()
    [done] = await until(lambda: setting.log(webhook_id, "delivered"))
    again = (await setting.log(webhook_id, "failed"))[0]
    await setting.webhooks.resend(setting.operator, webhook_id, again.id)
    await until(lambda: again.id in {one.id for one in receiver.received[-1:]})
    assert done.id != again.id


async def test_an_endpoint_that_is_gone_is_disabled_at_once(setting: Setting, receiver: Receiver) -> None:
    receiver.reply = lambda one: (410, {}, b"")
    webhook_id, _ = await setting.add(receiver.url)
    await setting.happen()
    await until(lambda: setting.log(webhook_id, "failed"))
    webhook = (await setting.webhooks.show(setting.operator, webhook_id)).webhook
    assert (webhook.enabled, webhook.disabled_reason) == (False, "it answered 410 (gone)")
    assert len(receiver.received) == 1


async def test_a_slow_endpoint_delays_no_other(setting: Setting, receiver: Receiver) -> None:
    with running_receiver() as slow:

        def wait(one: Received) -> Reply:
            slow.released.wait(240)
            return 204, {}, b""

        slow.reply = wait
        slow_id, _ = await setting.add(slow.url)
        quick_id, _ = await setting.add(receiver.url)
        await setting.happen(20)
        await until(lambda: len(receiver.received) == 20)
        await until(lambda: len(slow.received) == worker.AT_ONCE)
        assert await setting.log(slow_id, "delivered") == []
        slow.released.set()
        await until(lambda: len({one.id for one in slow.received}) == 20)
    assert len({one.id for one in receiver.received}) == 20
    await until(lambda: setting.log(quick_id, "delivered"))


async def test_two_thousand_events_all_arrive_with_ids_of_their_own(setting: Setting, receiver: Receiver) -> None:
    webhook_id, secret = await setting.add(receiver.url)
    await setting.happen(2_000)
    await until(lambda: len(receiver.received) >= 2_000, seconds=400)

    async def is_empty() -> bool:
        return (await setting.webhooks.show(setting.operator, webhook_id)).pending == 0

    await until(is_empty)
    assert len(receiver.received) == len({one.id for one in receiver.received}) == 2_000
    numbers = {Verifier(secret).verify(one.body, one.headers)["data"]["eventId"] for one in receiver.received[:50]}
    assert len(numbers) == 50


async def test_what_happened_while_no_daemon_ran_is_sent_by_the_next(setting: Setting, receiver: Receiver) -> None:
    webhook_id, _ = await setting.add(receiver.url)
    await setting.webhooks.close()
    await setting.happen(3)
    await setting.database.close()
    await setting.open()
    await until(lambda: len(receiver.received) == 3)
    assert len(await setting.log(webhook_id)) == 3


async def test_redirects_are_not_followed(setting: Setting, receiver: Receiver) -> None:
    with running_receiver() as elsewhere:
        for status in (302, 303, 307, 308):
            receiver.reply = lambda one, status=status: (status, {"Location": f"{elsewhere.url}/"}, b"")
            webhook_id, _ = await setting.add(receiver.url, name=str(status))
            await setting.happen()
            [failed] = await until(lambda id=webhook_id: setting.log(id, "failed"))
            assert "redirect" in failed.error
            await setting.webhooks.remove(setting.operator, webhook_id)
        receiver.reply = lambda one: (308, {"Location": f"{receiver.url}/hook/"}, b"")
        webhook_id, _ = await setting.add(f"{receiver.url}/hook")
        await setting.happen()
        await until(lambda: setting.log(webhook_id, "failed"))
        assert elsewhere.received == []
        assert all(one.path != "/hook/" for one in receiver.received)


async def test_a_large_answer_is_not_read(setting: Setting, receiver: Receiver) -> None:
    receiver.reply = lambda one: (200, {}, b"x" * 1_000_000)
    webhook_id, _ = await setting.add(receiver.url)
    await setting.happen()
    await until(lambda: setting.log(webhook_id, "failed"))


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "https://10.0.0.1/", "https://localhost/", "https://[::1]/"])
async def test_only_the_operator_sends_to_private_addresses(setting: Setting, url: str) -> None:
    with pytest.raises(Forbidden, match="private address"):
        await setting.webhooks.add(setting.admin, name="x", url=url, kind="standard", chosen=["interaction.*"])
    webhook_id, _ = await setting.add(url)
    with pytest.raises(Forbidden, match="private address"):
        await setting.webhooks.change(setting.admin, webhook_id, Change(url=url))


async def test_addresses_that_can_not_be_webhooks_are_refused(setting: Setting) -> None:
    for url in ("http://example.com/", "http://169.254.169.254/", "https://example.com/#x"):
        with pytest.raises(InvalidRequest):
            await setting.add(url)
    for url in ("ftp://example.com/", "https://user:pw@example.com/", "nonsense"):
        with pytest.raises(EgressRefused):
            await setting.add(url)


async def test_a_name_that_becomes_private_later_is_not_reached(setting: Setting, receiver: Receiver) -> None:
    """The row is changed as if a public name had been added that now leads here."""
    webhook_id, _ = await setting.add(receiver.url)
    await setting.database.write(lambda c: webhooks.update(c, webhook_id, private_access=""))
    await setting.happen()
    [failed] = await until(lambda: setting.log(webhook_id, "failed"))
    assert "private" in failed.error
    assert receiver.received == []


async def test_a_rotated_secret_signs_beside_the_old_one(setting: Setting, receiver: Receiver) -> None:
    webhook_id, old = await setting.add(receiver.url)
    _, new = await setting.webhooks.rotate(setting.operator, webhook_id)
    await setting.happen()
    [one] = await until(lambda: receiver.received)
    for secret in (old, new):
        Verifier(secret).verify(one.body, one.headers)
    assert old != new


async def test_secrets_and_addresses_are_sealed(setting: Setting, receiver: Receiver) -> None:
    webhook_id, secret = await setting.add(f"{receiver.url}/services/T0/hushhush", kind="slack")
    _, secret = await setting.add(f"{receiver.url}/hook?token=hushhush")
    await setting.happen()
    await until(lambda: len(receiver.received) == 2)
    await until(lambda: setting.log(webhook_id, "delivered"))
    receiver.reply = lambda one: (500, {}, b"")
    await setting.happen()
    await until(lambda: setting.log(webhook_id, "failed"))
    await setting.webhooks.close()
    await setting.database.close()
    kept = b"".join(file.read_bytes() for file in setting.root.glob("executor.db*"))
    assert b"hushhush" not in kept
    assert secret.removeprefix("whsec_").encode() not in kept
    await setting.open()


async def test_slack_gets_a_message_with_a_link(setting: Setting, receiver: Receiver) -> None:
    _, secret = await setting.add(f"{receiver.url}/services/T0/B0/x", kind="slack")
    await setting.happen()
    [one] = await until(lambda: receiver.received)
    assert secret == ""
    assert set(one.json) == {"text", "blocks"}
    assert "<http://here/approvals/int_1|Open in Executor>" in one.json["text"]


async def test_a_test_message_is_attempted_once_and_counts_for_nothing(setting: Setting, receiver: Receiver) -> None:
    receiver.reply = lambda one: (500, {}, b"")
    webhook_id, _ = await setting.add(receiver.url)
    sent = await setting.webhooks.send_test(setting.operator, webhook_id)
    [failed] = await until(lambda: setting.log(webhook_id, "failed"))
    assert (failed.id, failed.attempts, len(receiver.received)) == (sent.id, 1, 1)
    assert (await setting.webhooks.show(setting.operator, webhook_id)).webhook.failing_since is None


async def test_other_events_are_sent_from_the_change_on(setting: Setting, receiver: Receiver) -> None:
    webhook_id, _ = await setting.add(receiver.url)
    await setting.happen(type="execution.completed")
    present = (await setting.webhooks.show(setting.operator, webhook_id)).webhook
    wanted = Change(events=["execution.completed"], revision=present.revision)
    await setting.webhooks.change(setting.operator, webhook_id, wanted)
    with pytest.raises(Conflict):
        await setting.webhooks.change(setting.operator, webhook_id, wanted)
    await setting.happen(type="execution.completed")
    await setting.happen()
    await until(lambda: setting.log(webhook_id, "delivered"))
    assert [one.json["type"] for one in receiver.received] == ["execution.completed"]


async def test_nothing_listens_before_there_is_a_webhook(setting: Setting) -> None:
    assert setting.feed._listeners == []
    assert setting.webhooks._sweeper is None


async def test_the_log_is_swept(setting: Setting, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "LOG_KEPT", 5)
    monkeypatch.setattr(worker, "SWEPT", 2)
    webhook_id, _ = await setting.add(receiver.url)
    await setting.happen(12)

    async def are_delivered() -> bool:
        return len(await setting.log(webhook_id, "delivered")) == 12

    await until(are_delivered)
    newest = [one.id for one in await setting.log(webhook_id)][:5]
    found = await setting.database.read(webhooks.everywhere)
    await worker.sweep(setting.database, found)
    assert [one.id for one in await setting.log(webhook_id)] == newest
    monkeypatch.setattr(worker, "LOG_MS", -1000)
    await worker.sweep(setting.database, found)
    assert await setting.log(webhook_id) == []


async def test_a_backlog_stays_in_the_event_log(
    setting: Setting, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "BACKLOG", 10)
    monkeypatch.setattr(outbox, "PAGE", 5)

    def wait(one: Received) -> Reply:
        receiver.released.wait(240)
        return 204, {}, b""

    receiver.reply = wait
    webhook_id, _ = await setting.add(receiver.url)
    await setting.happen(50)
    await until(lambda: len(receiver.received) == worker.AT_ONCE)
    assert await setting.database.read(lambda c: deliveries.count_pending(c, webhook_id, 100)) == 10
    receiver.released.set()
    await until(lambda: len({one.id for one in receiver.received}) == 50)
    await asyncio.sleep(0)


async def test_a_full_outbox_is_not_counted_for_every_event(
    setting: Setting, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "BACKLOG", 10)
    monkeypatch.setattr(outbox, "PAGE", 5)
    receiver.reply = lambda one: (receiver.released.wait(240), (204, {}, b""))[1]
    await setting.add(receiver.url)
    await setting.happen(10)
    await until(lambda: len(receiver.received) == worker.AT_ONCE)
    counted: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if "count(" in statement and "webhook_deliveries" in statement:
            counted.append(statement)

    event.listen(setting.database.engine, "before_cursor_execute", note)
    found: list[Any] = []
    has_news = outbox.has_news

    def look(c: Any, webhook_id: str) -> bool:
        found.append(webhook_id)
        return has_news(c, webhook_id)

    monkeypatch.setattr(outbox, "has_news", look)
    for looked in range(1, 31):
        await setting.happen()
        await until(lambda looked=looked: len(found) >= looked)  # type: ignore[misc]
    event.remove(setting.database.engine, "before_cursor_execute", note)
    assert len(counted) <= 1
    receiver.released.set()
    await until(lambda: len({one.id for one in receiver.received}) == 40)


async def test_choosing_other_events_takes_what_waits_in_pages_and_never_too_much(
    setting: Setting, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "BACKLOG", 10)
    monkeypatch.setattr(outbox, "PAGE", 5)
    receiver.reply = lambda one: (receiver.released.wait(240), (204, {}, b""))[1]
    webhook_id, _ = await setting.add(receiver.url)
    await setting.happen(30)
    await until(lambda: len(receiver.received) == worker.AT_ONCE)
    with pytest.raises(Conflict, match="too many messages"):
        await setting.webhooks.change(setting.operator, webhook_id, Change(events=["execution.*"]))
    assert await setting.database.read(lambda c: deliveries.count_pending(c, webhook_id, 100)) == 10
    receiver.released.set()
    await until(lambda: len({one.id for one in receiver.received}) == 30)
    await setting.webhooks.change(setting.operator, webhook_id, Change(events=["execution.*"]))
