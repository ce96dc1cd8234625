"""A webhook: an address that is sent a message when something happens in a workspace, and the log of its deliveries."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from executor.dataclass import dataclass

WebhookKind = Literal["standard", "slack"]
DeliveryStatus = Literal["pending", "delivered", "failed"]

# What a webhook can be sent, in the order in which people choose.
EVENTS = (
    "interaction.requested",
    "interaction.approved",
    "interaction.denied",
    "interaction.expired",
    "interaction.cancelled",
    "execution.paused",
    "execution.completed",
    "execution.failed",
    "execution.cancelled",
    "source.failing",
    "connection.marked",
    "agent_session.started",
    "agent_session.task_ended",
    "agent_session.stopped",
    "webhook.disabled",
)
TEST = "webhook.test"


@dataclass(frozen=True, slots=True)
class Webhook:
    """`url` is fit to be shown; the whole address is sealed, with the secrets that sign. `private_access` is a private
    address that the operator allowed. Every event up to `position` is among its deliveries."""

    id: str
    workspace_id: str
    name: str
    kind: WebhookKind
    url: str
    events: tuple[str, ...]
    created_by: str
    created_at: int
    key_id: str = field(repr=False)
    sealed: bytes = field(repr=False)
    private_access: str = ""
    enabled: bool = True
    disabled_reason: str = ""
    failing_since: int | None = None
    position: int = 0
    revision: int = 1

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(one for one in EVENTS if one in self.events or f"{one.partition('.')[0]}.*" in self.events)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message for one webhook. Its id is the message's, the same at every attempt; `event_id` is 0 for a test."""

    id: str
    webhook_id: str
    workspace_id: str
    event_id: int
    type: str
    payload: str
    created_at: int
    next_at: int
    status: DeliveryStatus = "pending"
    attempts: int = 0
    attempted_at: int | None = None
    response_status: int | None = None
    error: str = ""
