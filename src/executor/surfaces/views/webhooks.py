"""Webhooks and their deliveries. No view has a secret, but for the answer that creates it."""

from __future__ import annotations

from typing_extensions import TypedDict

from executor.model.webhook import Delivery, DeliveryStatus, WebhookKind
from executor.surfaces.views.base import time
from executor.webhooks.webhooks import Summary


class WebhookView(TypedDict):
    """`url` leaves out what may be a credential. `pending` counts the deliveries that wait, up to 10,000."""

    id: str
    name: str
    kind: WebhookKind
    url: str
    events: list[str]
    enabled: bool
    disabledReason: str | None
    failingSince: str | None
    pending: int
    revision: int
    createdBy: str
    createdAt: str


class WebhookWithSecret(WebhookView):
    """`secret` is shown only here; null for the kind `slack`."""

    secret: str | None


class WebhookPage(TypedDict):
    """`events` are all that a webhook can be sent."""

    items: list[WebhookView]
    events: list[str]


class DeliveryView(TypedDict):
    """`id` is the `webhook-id` of the message. `nextAt` is when it is attempted next."""

    id: str
    eventId: str | None
    type: str
    status: DeliveryStatus
    attempts: int
    createdAt: str
    attemptedAt: str | None
    nextAt: str | None
    responseStatus: int | None
    error: str | None


class DeliveryPage(TypedDict):
    items: list[DeliveryView]
    next: str | None


def webhook_view(summary: Summary) -> WebhookView:
    webhook = summary.webhook
    return {
        "id": webhook.id,
        "name": webhook.name,
        "kind": webhook.kind,
        "url": webhook.url,
        "events": list(webhook.events),
        "enabled": webhook.enabled,
        "disabledReason": webhook.disabled_reason or None,
        "failingSince": time(webhook.failing_since),
        "pending": summary.pending,
        "revision": webhook.revision,
        "createdBy": webhook.created_by,
        "createdAt": time(webhook.created_at),
    }


def delivery_view(delivery: Delivery) -> DeliveryView:
    return {
        "id": delivery.id,
        "eventId": str(delivery.event_id) if delivery.event_id else None,
        "type": delivery.type,
        "status": delivery.status,
        "attempts": delivery.attempts,
        "createdAt": time(delivery.created_at),
        "attemptedAt": time(delivery.attempted_at),
        "nextAt": time(delivery.next_at) if delivery.status == "pending" else None,
        "responseStatus": delivery.response_status,
        "error": delivery.error or None,
    }
