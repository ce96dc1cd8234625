"""One attempt to deliver a message, and what becomes of the delivery and of its webhook afterwards."""

from __future__ import annotations

import random

import orjson
from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import EgressRefused, SourceUnreachable
from executor.model.ids import now_ms
from executor.model.webhook import TEST, Delivery, Webhook
from executor.network.addresses import display_url
from executor.network.client import NO_ORIGINS, Answer, Bounds, Egress, Outgoing
from executor.storage.executions import events
from executor.storage.webhooks import deliveries, webhooks
from executor.webhooks import slack
from executor.webhooks.credentials import Private
from executor.webhooks.signature import signed_headers

MINUTE, HOUR = 60, 3600
ANSWER_BYTES = 64 * 1024
MAX_ERROR = 300
LONGEST_WAIT = HOUR  # that an answer may ask for
GONE = 410


@dataclass(frozen=True, slots=True)
class Terms:
    """`schedule` is the seconds before each further attempt: together a day. An endpoint that has refused everything
    for `patience` seconds is disabled."""

    schedule: tuple[float, ...] = (
        5, 30, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 8.5 * HOUR,
    )  # fmt: skip
    patience: float = 24 * HOUR
    seconds: float = 15.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """`is_down`: it did not answer, or said that it can't at present. Others would fare alike."""

    delivered: bool
    status: int | None = None
    error: str = ""
    is_down: bool = False
    wait: float = 0.0


async def attempt(egress: Egress, webhook: Webhook, private: Private, delivery: Delivery, terms: Terms) -> Outcome:
    origins = frozenset({webhook.private_access}) if webhook.private_access else NO_ORIGINS
    bounds = Bounds(seconds=terms.seconds, size=ANSWER_BYTES, queue_seconds=terms.seconds)
    try:
        answer = await egress.send(
            request_of(webhook, private, delivery), origins=origins, bounds=bounds, may_follow=refuse_redirect
        )
    except EgressRefused as error:
        if error.details.get("sent"):
            return Outcome(False, error="it answered with a redirect, which is not followed")
        return Outcome(False, error="its address is private, or is no longer the one that was allowed", is_down=True)
    except SourceUnreachable as error:
        text = error.message.replace(display_url(private.url), webhook.url)
        return Outcome(False, error=text[:MAX_ERROR], is_down=True)
    if 200 <= answer.status < 300:
        return Outcome(True, answer.status)
    is_down = answer.status == 429 or answer.status >= 500
    return Outcome(False, answer.status, f"it answered {answer.status}", is_down, asked_wait(answer))


def request_of(webhook: Webhook, private: Private, delivery: Delivery) -> Outgoing:
    headers = {"Content-Type": "application/json"}
    if webhook.kind == "slack":
        return Outgoing("POST", private.url, headers, orjson.dumps(slack.render(orjson.loads(delivery.payload))))
    body, now = delivery.payload.encode(), now_ms()
    headers |= signed_headers(private.valid_secrets(now), delivery.id, now // 1000, body)
    return Outgoing("POST", private.url, headers, body)


async def refuse_redirect(before: Outgoing, after: Outgoing) -> None:
    raise EgressRefused("webhooks follow no redirects", hint="use the final address", sent=True)


def asked_wait(answer: Answer) -> float:
    text = answer.headers.get("Retry-After", "")
    return min(float(text), LONGEST_WAIT) if text.isascii() and text.isdigit() else 0.0


def record(c: Connection, delivery: Delivery, outcome: Outcome, terms: Terms) -> None:
    """In one transaction. A delivery that was recorded as delivered meanwhile stays so."""
    now, webhook = now_ms(), webhooks.lock(c, delivery.webhook_id)
    present = deliveries.get(c, delivery.webhook_id, delivery.id)
    if webhook is None or present is None:
        return
    tried = {"attempts": present.attempts + 1, "attempted_at": now, "response_status": outcome.status}
    if outcome.delivered:
        deliveries.change(c, delivery.id, **tried, status="delivered", error="")
        if webhook.failing_since is not None:
            webhooks.update(c, webhook.id, failing_since=None)
        return
    left = delivery.type != TEST and present.attempts < len(terms.schedule) and webhook.enabled
    seconds = max(terms.schedule[present.attempts] * random.uniform(1, 1.1), outcome.wait) if left else 0  # noqa: S311 - jitter
    values = {"status": "pending" if left else "failed", "next_at": now + int(seconds * 1000), "error": outcome.error}
    deliveries.change(c, delivery.id, **tried, **values)
    if delivery.type != TEST:
        note_failure(c, webhook, outcome, now, terms)


def note_failure(c: Connection, webhook: Webhook, outcome: Outcome, now: int, terms: Terms) -> None:
    since = now if webhook.failing_since is None else webhook.failing_since
    if outcome.status == GONE:
        disable(c, webhook, "it answered 410 (gone)")
    elif now - since >= terms.patience * 1000:
        disable(c, webhook, f"every attempt failed for {terms.patience / HOUR:g} hours; the last one: {outcome.error}")
    elif webhook.failing_since is None:
        webhooks.update(c, webhook.id, failing_since=since)


def disable(c: Connection, webhook: Webhook, reason: str) -> None:
    if not webhook.enabled:
        return
    webhooks.update(c, webhook.id, enabled=False, disabled_reason=reason, revision=webhook.revision + 1)
    deliveries.fail_pending(c, webhook.id, "the webhook was disabled")
    data = {"id": webhook.id, "name": webhook.name, "url": webhook.url, "reason": reason}
    events.append(c, webhook.workspace_id, "webhook.disabled", data)
