"""Where a secret may be sent: to the origin of its first use, and to those that an administrator has allowed."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from executor.errors import SecretElsewhere
from executor.model.credentials import Secret
from executor.model.identity.actor import Actor
from executor.storage.credentials import secrets as rows
from executor.storage.executions import events


def bind_origin(c: Connection, secret: Secret, origin: str, *, allow: bool, by: Actor) -> None:
    """In a writing job: `origin` is where a connection would send it. The first one is its own from then on."""
    if origin in secret.origins:
        return
    if secret.origins and not allow:
        raise elsewhere(secret, origin)
    rows.allow_origin(c, secret, origin)
    what = "secret.origin_allowed" if secret.origins else "secret.bound"
    events.append(c, secret.workspace_id, what, {"name": secret.name, "origin": origin}, by=by)


def check_origin(secret: Secret, origin: str) -> None:
    if origin not in secret.origins:
        raise elsewhere(secret, origin)


def elsewhere(secret: Secret, origin: str) -> SecretElsewhere:
    bound = ", ".join(secret.origins) or "no origin yet"
    return SecretElsewhere(
        f"the secret {secret.name!r} belongs to {bound}, but this would send it to {origin}",
        hint=f"if this is expected, an administrator can run `executor secrets allow-origin {secret.name} {origin}`",
        secret=secret.name,
        origin=origin,
        origins=list(secret.origins),
    )
