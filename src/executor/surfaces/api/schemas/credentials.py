"""Secrets and connections: everything about a value but the value."""

from __future__ import annotations

from typing import Any, Literal

from executor.surfaces.api.schemas.base import Shape


class SecretUse(Shape):
    connection_id: str
    connection: str
    source: str
    actor: str | None
    status: Literal["ready", "incomplete", "rejected", "expired", "revoked"]


class SecretView(Shape):
    id: str
    name: str
    provider: Literal["store", "keyring", "environment", "vault", "onepassword"]
    reference: str | None
    origins: list[str]
    created_at: str
    rotated_at: str
    last_used_at: str | None
    used_by: list[SecretUse] | None = None


class SecretPage(Shape):
    items: list[SecretView]


class KeyRotated(Shape):
    values: int


class ConnectionView(Shape):
    id: str
    source: str
    name: str
    scope: Literal["actor", "workspace"]
    actor_id: str | None
    scheme: Literal["api_key", "bearer", "basic", "headers", "environment", "oauth2"]
    origin: str
    places: list[str]
    status: Literal["ready", "incomplete", "rejected", "expired", "revoked"]
    error: str | None
    revision: int
    created_by: str
    created_at: str
    updated_at: str
    last_used_at: str | None


class ConnectionPage(Shape):
    items: list[ConnectionView]


class WayPage(Shape):
    items: list[dict[str, Any]]
    sent_to: str


class ConnectionTest(Shape):
    ok: bool
    outcome: Literal["ok", "rejected", "untested", "unusable"]
    checked: str
    error: str | None = None
    hint: str | None = None
