"""The outbox: events become deliveries in the transaction that moves a webhook's position, so each does once."""

from __future__ import annotations

import orjson
from sqlalchemy.engine import Connection

from executor.errors import Conflict
from executor.model.event import Event
from executor.model.ids import new_id, now_ms
from executor.model.webhook import TEST, Delivery, Webhook
from executor.storage.executions import events
from executor.storage.webhooks import deliveries, webhooks
from executor.webhooks.messages import compose

PAGE = 200
BACKLOG = 10_000  # deliveries that wait; further events wait in the event log


def has_news(c: Connection, webhook_id: str) -> bool:
    webhook = webhooks.by_id(c, webhook_id)
    return webhook is not None and webhook.enabled and bool(news_of(c, webhook, limit=1))


def news_of(c: Connection, webhook: Webhook, limit: int) -> list[Event]:
    return events.of_types(c, webhook.workspace_id, webhook.types, after=webhook.position, limit=limit)


def count_room(c: Connection, webhook_id: str) -> int:
    """How many more deliveries may wait. It costs as much as there are, so it is not for every event."""
    return BACKLOG - deliveries.count_pending(c, webhook_id, BACKLOG)


def fill(c: Connection, webhook_id: str, address: str, room: int) -> int:
    """A page at most: how many deliveries it has."""
    webhook = webhooks.lock(c, webhook_id)  # another process may fill it too
    if webhook is None or not webhook.enabled:
        return 0
    return take_page(c, webhook, address, min(room, PAGE))


def take_page(c: Connection, webhook: Webhook, address: str, limit: int) -> int:
    found = news_of(c, webhook, limit)
    if found:
        deliveries.insert(c, [new_delivery(webhook, event, address) for event in found])
        webhooks.update(c, webhook.id, position=found[-1].id)
    return len(found)


def take_rest(c: Connection, webhook: Webhook, address: str) -> None:
    """Before its events change: what it had chosen so far is still sent. All but the last page was taken before."""
    if webhook.enabled and take_page(c, webhook, address, PAGE) == PAGE:
        raise Conflict(
            f"too many messages of {webhook.name} are waiting to choose other events",
            hint="wait until more of them are sent, or disable it first",
        )


def new_delivery(webhook: Webhook, event: Event, address: str) -> Delivery:
    at = now_ms()
    payload = orjson.dumps(compose(event, address)).decode()
    return Delivery(new_id("msg"), webhook.id, webhook.workspace_id, event.id, event.type, payload, at, at)


def new_test(webhook: Webhook, address: str) -> Delivery:
    data = {"id": webhook.id, "name": webhook.name}
    return new_delivery(webhook, Event(0, webhook.workspace_id, "", TEST, now_ms(), data), address)
