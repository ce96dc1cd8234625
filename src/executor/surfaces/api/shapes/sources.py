"""Sources, and what is found out before one is connected."""

from __future__ import annotations

from typing import Literal

from executor.surfaces.api.shapes.base import Shape


class Skipped(Shape):
    where: str
    reason: str


class AuthView(Shape):
    name: str
    type: str
    description: str


class ProbeView(Shape):
    kind: str
    location: str | None
    name: str | None
    namespace: str | None
    base_url: str | None
    transport: str | None
    auth: list[AuthView]
    note: str | None


class TemplateView(Shape):
    id: str
    name: str
    kind: str
    location: str
    namespace: str
    base_url: str | None
    auth: str | None
    note: str | None


class TemplatePage(Shape):
    items: list[TemplateView]


class SourceView(Shape):
    id: str
    kind: str
    namespace: str
    name: str
    status: Literal["connected", "failing"]
    error: str | None
    location: str | None
    command: list[str] | None
    base_url: str | None
    transport: str | None
    headers: list[str]
    auth: list[AuthView]
    tool_count: int
    skipped: list[Skipped]
    created_at: str
    refreshed_at: str


class RefreshedView(SourceView):
    unchanged: bool
    added: list[str]
    removed: list[str]
    changed: list[str]


class SourcePage(Shape):
    items: list[SourceView]
