"""Events, and the audit log made of them."""

from __future__ import annotations

from typing import Any

from executor.surfaces.api.schemas.base import Shape


class EventView(Shape):
    id: int
    type: str
    at: str
    execution_id: str | None
    data: dict[str, Any]


class EventPage(Shape):
    items: list[EventView]
    next: int | None


class AuditEventView(Shape):
    id: int
    type: str
    at: str
    execution_id: str | None
    actor_id: str | None
    actor: str | None
    origin: str | None
    data: dict[str, Any]
    seal: str | None


class AuditPage(Shape):
    items: list[AuditEventView]
    next: int | None
    partial: bool


class BreakView(Shape):
    event_id: int | None
    problem: str


class AuditReportView(Shape):
    ok: bool
    events: int
    head: str | None
    broken: BreakView | None
