"""Secrets and connections: everything about a value but the value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from executor.execution.names import Names
from executor.model.credentials import Connection, ConnectionStatus, Provider, Scheme, Secret
from executor.model.sessions.model_usage import ModelKey, ModelProvider
from executor.surfaces.views.base import time


class SecretUse(TypedDict):
    connectionId: str
    connection: str
    source: str
    actor: str | None
    status: ConnectionStatus


class SecretView(TypedDict):
    id: str
    name: str
    provider: Provider
    reference: str | None
    origins: list[str]
    createdAt: str
    rotatedAt: str
    lastUsedAt: str | None
    usedBy: NotRequired[list[SecretUse] | None]


def used_by(secret: Secret, wired: Sequence[tuple[Connection, str]], known: Names) -> list[SecretUse]:
    return [
        {
            "connectionId": one.id,
            "connection": one.name,
            "source": namespace,
            "actor": known.actors.get(one.actor_id, one.actor_id) or None,
            "status": one.status,
        }
        for one, namespace in wired
        if secret.id in one.inputs.values()
    ]


def secret_view(secret: Secret) -> SecretView:
    return {
        "id": secret.id,
        "name": secret.name,
        "provider": secret.provider,
        "reference": secret.reference if secret.provider not in ("store", "keyring") else None,
        "origins": list(secret.origins),
        "createdAt": time(secret.created_at),
        "rotatedAt": time(secret.rotated_at),
        "lastUsedAt": time(secret.last_used_at),
    }


class SecretPage(TypedDict):
    items: list[SecretView]


class KeyRotated(TypedDict):
    values: int


class ModelKeyView(TypedDict):
    provider: ModelProvider
    scope: Literal["workspace", "actor"]
    secret: str | None
    sentTo: str
    createdAt: str


class ModelKeyPage(TypedDict):
    items: list[ModelKeyView]


def model_key_view(key: ModelKey, secret: str, origin: str) -> ModelKeyView:
    return {
        "provider": key.provider,
        "scope": "actor" if key.actor_id else "workspace",
        "secret": secret or None,
        "sentTo": origin,
        "createdAt": time(key.created_at),
    }


class ConnectionView(TypedDict):
    id: str
    source: str
    name: str
    scope: Literal["actor", "workspace"]
    actorId: str | None
    scheme: Scheme
    origin: str
    places: list[str]
    status: ConnectionStatus
    error: str | None
    revision: int
    createdBy: str
    createdAt: str
    updatedAt: str
    lastUsedAt: str | None


def connection_view(connection: Connection, namespace: str) -> ConnectionView:
    return {
        "id": connection.id,
        "source": namespace,
        "name": connection.name,
        "scope": "actor" if connection.actor_id else "workspace",
        "actorId": connection.actor_id or None,
        "scheme": connection.scheme,
        "origin": connection.origin,
        "places": [f"{one['in']} {one['name']}" for one in connection.options.get("placements", ())],
        "status": connection.status,
        "error": connection.error or None,
        "revision": connection.revision,
        "createdBy": connection.created_by,
        "createdAt": time(connection.created_at),
        "updatedAt": time(connection.updated_at),
        "lastUsedAt": time(connection.last_used_at),
    }


class ConnectionPage(TypedDict):
    items: list[ConnectionView]


class WayPage(TypedDict):
    items: list[dict[str, Any]]
    sentTo: str


class ConnectionTest(TypedDict):
    ok: bool
    outcome: Literal["ok", "rejected", "untested", "unusable"]
    checked: str
    error: NotRequired[str | None]
    hint: NotRequired[str | None]
