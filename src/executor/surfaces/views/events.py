"""Events, and the audit log made of them."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from executor.model.event import Event
from executor.surfaces.views.base import time


class EventView(TypedDict):
    id: int
    type: str
    at: str
    executionId: str | None
    data: dict[str, Any]


def event_view(event: Event) -> EventView:
    return {
        "id": event.id,
        "type": event.type,
        "at": time(event.at),
        "executionId": event.execution_id or None,
        "data": event.data,
    }


class EventPage(TypedDict):
    items: list[EventView]
    next: int | None


class AuditEventView(EventView):
    actorId: str | None
    actor: str | None
    origin: str | None
    seal: str | None


def audit_view(event: Event, actor: str = "") -> AuditEventView:
    """An event with everything that is known of who brought it about."""
    return {
        **event_view(event),
        "actorId": event.actor_id or None,
        "actor": actor or None,
        "origin": event.origin or None,
        "seal": event.seal or None,
    }


class AuditPage(TypedDict):
    items: list[AuditEventView]
    next: int | None
    partial: bool


class BreakView(TypedDict):
    eventId: int | None
    problem: str


class AuditReportView(TypedDict):
    ok: bool
    events: int
    head: str | None
    broken: BreakView | None
