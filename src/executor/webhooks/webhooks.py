"""`Webhooks`: add, edit and remove them, look at their deliveries, and have them sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import Conflict, InvalidRequest, NotFound, StorageError
from executor.model.event import Announcement
from executor.model.identity.actor import Actor
from executor.model.ids import new_id, now_ms
from executor.model.webhook import EVENTS, Delivery, DeliveryStatus, Webhook, WebhookKind
from executor.network.client import Egress
from executor.secrets.sealing import Sealing
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.feed import Feed
from executor.storage.identity import workspaces
from executor.storage.webhooks import deliveries, webhooks
from executor.webhooks import outbox
from executor.webhooks.addresses import check_address, shown_address
from executor.webhooks.attempts import Terms
from executor.webhooks.credentials import Private, unseal, with_private
from executor.webhooks.signature import new_secret
from executor.webhooks.worker import Parts, Worker, sweep

MOST = 20  # of one workspace
PLACES = 64  # attempts at once, of all webhooks
OVERLAP_MS = 24 * 3_600_000  # that both secrets are valid after a rotation
SWEEP_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Change:
    """None leaves a setting as it is. `revision` is the one that the change was written for."""

    name: str | None = None
    url: str | None = None
    events: Sequence[str] | None = None
    enabled: bool | None = None
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """A webhook with how many deliveries wait."""

    webhook: Webhook
    pending: int


class Webhooks:
    """Nothing runs, and nothing listens to events, before there is a webhook."""

    def __init__(
        self,
        database: Database,
        feed: Feed,
        sealing: Sealing,
        egress: Egress,
        address: Callable[[], str],
        terms: Terms | None = None,
    ) -> None:
        self._database = database
        self._feed = feed
        self._sealing = sealing
        self._egress = egress
        self._parts = Parts(database, sealing, egress, asyncio.Semaphore(PLACES), address, terms or Terms())
        self._workers: dict[str, Worker] = {}
        self._wanted: dict[tuple[str, str], set[str]] = {}  # by workspace and type
        self._sweeper: asyncio.Task[None] | None = None
        self._reloading = asyncio.Lock()

    async def start(self) -> None:
        for webhook in await self._database.read(webhooks.everywhere):
            await self._reload(webhook.id)

    async def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        await asyncio.gather(*(worker.close() for worker in self._workers.values()))
        await self._egress.close()

    async def add(
        self, by: Actor, *, name: str, url: str, kind: WebhookKind, chosen: Sequence[str]
    ) -> tuple[Webhook, str]:
        """The webhook and its secret, which no one sees again."""
        check_events(chosen)
        private_access = await check_address(self._egress, by, url)
        secret = new_secret() if kind == "standard" else ""

        def job(c: Connection) -> Webhook:
            workspaces.lock(c, by.workspace_id)
            if len(webhooks.listing(c, by.workspace_id)) >= MOST:
                raise Conflict(f"a workspace has at most {MOST} webhooks", hint="remove one first")
            blank = Webhook(
                new_id("whk"), by.workspace_id, name, kind, shown_address(url, kind), tuple(chosen), by.id, now_ms(),
                "", b"", private_access=private_access, position=events.newest(c, by.workspace_id),
            )  # fmt: skip
            webhook = with_private(c, self._sealing, blank, Private(url, secret))
            webhooks.insert(c, webhook)
            note(c, webhook, "webhook.added", by)
            return webhook

        added = await self._database.write(job)
        await self._reload(added.id)
        return added, secret

    async def listing(self, by: Actor) -> list[Summary]:
        def job(c: Connection) -> list[Summary]:
            return [summarize(c, webhook) for webhook in webhooks.listing(c, by.workspace_id)]

        return await self._database.read(job)

    async def show(self, by: Actor, id_or_name: str) -> Summary:
        return await self._database.read(lambda c: summarize(c, find(c, by, id_or_name)))

    async def change(self, by: Actor, id_or_name: str, wanted: Change) -> Summary:
        """A disabled webhook that is enabled again is sent what happens from then on."""
        check_events(wanted.events)
        private_access = await check_address(self._egress, by, wanted.url) if wanted.url is not None else ""
        if wanted.events is not None or wanted.enabled:
            await self._take_ahead(by, id_or_name)

        def job(c: Connection) -> Summary:
            present = find_locked(c, by, id_or_name)
            if wanted.revision is not None and wanted.revision != present.revision:
                raise Conflict(
                    f"the webhook was changed meanwhile: its revision is {present.revision}",
                    hint="look at it again, then repeat the change",
                    revision=present.revision,
                )
            changed = replace(
                present,
                name=present.name if wanted.name is None else wanted.name,
                events=present.events if wanted.events is None else tuple(wanted.events),
                enabled=present.enabled if wanted.enabled is None else wanted.enabled,
                revision=present.revision + 1,
            )
            if changed.types != present.types or (changed.enabled and not present.enabled):
                outbox.take_rest(c, present, self._parts.address())
                changed = replace(changed, position=events.newest(c, by.workspace_id))
            if changed.enabled != present.enabled:
                changed = replace(changed, failing_since=None, disabled_reason="" if changed.enabled else "by hand")
            if wanted.url is not None:
                url = wanted.url
                private = replace(unseal(c, self._sealing, present), url=url)
                changed = replace(changed, url=shown_address(url, present.kind), private_access=private_access)
                changed = with_private(c, self._sealing, changed, private)
            webhooks.change(c, changed)
            if not changed.enabled:
                deliveries.fail_pending(c, present.id, "the webhook was disabled")
            note(c, changed, "webhook.changed", by)
            return summarize(c, changed)

        changed = await self._database.write(job)
        await self._reload(changed.webhook.id)
        return changed

    async def rotate(self, by: Actor, id_or_name: str) -> tuple[Summary, str]:
        """A new secret; the one before it signs too for a day, so that receivers can change to the new one."""
        secret = new_secret()

        def job(c: Connection) -> Summary:
            present = find_locked(c, by, id_or_name)
            if present.kind == "slack":
                raise InvalidRequest("a webhook of the kind `slack` has no secret", hint="change its URL instead")
            before = unseal(c, self._sealing, present)
            private = Private(before.url, secret, before.secret, now_ms() + OVERLAP_MS)
            changed = replace(with_private(c, self._sealing, present, private), revision=present.revision + 1)
            webhooks.change(c, changed)
            note(c, changed, "webhook.rotated", by)
            return summarize(c, changed)

        return await self._database.write(job), secret

    async def remove(self, by: Actor, id_or_name: str) -> Summary:
        def job(c: Connection) -> Summary:
            present = find_locked(c, by, id_or_name)
            summary = summarize(c, present)
            webhooks.delete(c, present.id)
            note(c, present, "webhook.removed", by)
            return summary

        removed = await self._database.write(job)
        await self._reload(removed.webhook.id)
        return removed

    async def send_test(self, by: Actor, id_or_name: str) -> Delivery:
        def job(c: Connection) -> Delivery:
            present = find_enabled(c, by, id_or_name)
            delivery = outbox.new_test(present, self._parts.address())
            deliveries.insert(c, [delivery])
            note(c, present, "webhook.tested", by)
            return delivery

        delivery = await self._database.write(job)
        self._wake(delivery.webhook_id)
        return delivery

    async def list_deliveries(
        self, by: Actor, id_or_name: str, *, status: DeliveryStatus | None = None, before: str = "", limit: int = 50
    ) -> list[Delivery]:
        def job(c: Connection) -> list[Delivery]:
            mine = find(c, by, id_or_name)
            return deliveries.page(c, mine.id, status=status, before=before, limit=limit)

        return await self._database.read(job)

    async def show_delivery(self, by: Actor, id_or_name: str, delivery_id: str) -> Delivery:
        return await self._database.read(lambda c: find_delivery(c, find(c, by, id_or_name), delivery_id))

    async def resend(self, by: Actor, id_or_name: str, delivery_id: str) -> Delivery:
        """The same message with the same id, and as many attempts as a new one."""

        def job(c: Connection) -> Delivery:
            present = find_enabled(c, by, id_or_name)
            delivery = find_delivery(c, present, delivery_id)
            again = deliveries.change(c, delivery.id, status="pending", attempts=0, next_at=now_ms(), error="")
            note(c, present, "webhook.resent", by, deliveryId=delivery.id)
            return again or delivery

        again = await self._database.write(job)
        self._wake(again.webhook_id)
        return again

    async def _take_ahead(self, by: Actor, id_or_name: str) -> None:
        """Before its events change, a page at a time, as far as there is room."""
        webhook = await self._database.read(lambda c: find(c, by, id_or_name))
        room = await self._database.read(partial(outbox.count_room, webhook_id=webhook.id))
        fill = partial(outbox.fill, webhook_id=webhook.id, address=self._parts.address())
        while room > 0 and (taken := await self._database.write(partial(fill, room=room))):
            room -= taken

    def _wake(self, webhook_id: str) -> None:
        if (worker := self._workers.get(webhook_id)) is not None:
            worker.wake()

    async def _reload(self, webhook_id: str) -> None:
        """Let its worker, and what it listens to, be as the database says."""
        async with self._reloading:
            if (worker := self._workers.pop(webhook_id, None)) is not None:
                await worker.close()
            for listening in self._wanted.values():
                listening.discard(webhook_id)
            webhook = await self._database.read(partial(webhooks.by_id, webhook_id=webhook_id))
            if webhook is None or not webhook.enabled:
                return
            if self._sweeper is None:
                self._sweeper = asyncio.create_task(self._sweep())
                self._feed.listen(self._hear)
            for type in webhook.types:
                self._wanted.setdefault((webhook.workspace_id, type), set()).add(webhook_id)
            self._workers[webhook_id] = Worker(webhook_id, self._parts)

    def _hear(self, announcement: Announcement) -> None:
        for webhook_id in self._wanted.get((announcement.workspace_id, announcement.type), ()):
            self._wake(webhook_id)

    async def _sweep(self) -> None:
        while True:
            with suppress(StorageError):  # the next time then
                await sweep(self._database, await self._database.read(webhooks.everywhere))
            await asyncio.sleep(SWEEP_SECONDS)


def check_events(chosen: Sequence[str] | None) -> None:
    if chosen is None:
        return
    nouns = {f"{one.partition('.')[0]}.*" for one in EVENTS}
    unknown = [one for one in chosen if one not in EVENTS and one not in nouns]
    if unknown:
        raise InvalidRequest(f"`{unknown[0][:100]}` is not an event of webhooks", hint=f"use {', '.join(EVENTS)}")
    if not chosen:
        raise InvalidRequest("no events are chosen", hint="choose at least one, such as `interaction.requested`")


def find(c: Connection, by: Actor, id_or_name: str) -> Webhook:
    """By its id, or by its name if no other webhook has the same."""
    listed = webhooks.listing(c, by.workspace_id)
    found = [one for one in listed if one.id == id_or_name] or [one for one in listed if one.name == id_or_name]
    if len(found) > 1:
        named = f"there are {len(found)} webhooks named {id_or_name[:100]}"
        raise InvalidRequest(named, hint=f"use one of {', '.join(one.id for one in found)}")
    if not found:
        raise NotFound(f"there is no webhook {id_or_name[:100]}", hint="`executor webhooks list` shows them")
    return found[0]


def find_locked(c: Connection, by: Actor, id_or_name: str) -> Webhook:
    """As it is once no other process can change it."""
    found = find(c, by, id_or_name)
    webhooks.lock(c, found.id)
    return find(c, by, found.id)


def find_enabled(c: Connection, by: Actor, id_or_name: str) -> Webhook:
    found = find_locked(c, by, id_or_name)
    if not found.enabled:
        raise Conflict(f"the webhook is disabled: {found.disabled_reason}", hint="enable it first")
    return found


def find_delivery(c: Connection, webhook: Webhook, delivery_id: str) -> Delivery:
    found = deliveries.get(c, webhook.id, delivery_id) if delivery_id.isascii() else None
    if found is None:
        raise NotFound(f"the webhook has no delivery {delivery_id[:100]}", hint="the log may no longer have it")
    return found


def summarize(c: Connection, webhook: Webhook) -> Summary:
    return Summary(webhook, deliveries.count_pending(c, webhook.id, outbox.BACKLOG))


def note(c: Connection, webhook: Webhook, type: str, by: Actor, **more: str) -> None:
    data = {"id": webhook.id, "name": webhook.name, "url": webhook.url, "kind": webhook.kind}
    settings = {"events": list(webhook.events), "enabled": webhook.enabled}
    events.append(c, webhook.workspace_id, type, {**data, **settings, **more}, by=by)
