"""What is requested twice with one key is created once. The audit log knows which keys were used, and for what.

A key is written down before anything is created, and its outcome afterwards. A key without an outcome was interrupted:
no one knows whether its thing exists, so it is never created again under that key.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy.engine import Connection

from executor.errors import AlreadyCreated, CreationUnknown, KeyReused
from executor.model.digest import digest
from executor.model.event import Event
from executor.model.identity.actor import Actor
from executor.model.ids import now_ms
from executor.storage.database import Database
from executor.storage.executions import events

REQUESTED, ANSWERED, REFUSED = "creation.requested", "creation.answered", "creation.refused"
TYPES = (REQUESTED, ANSWERED, REFUSED)
KNOWN_MS = 24 * 3600 * 1000


class Creation(NamedTuple):
    """`key` is the client's own name for it, as a digest. What was sent is not written down: it may have a secret."""

    key: str
    route: str


def name_creation(by: Actor, key: str, route: str) -> Creation:
    return Creation(digest([by.workspace_id, by.id, key])[:32], route)


async def begin(database: Database, by: Actor, creation: Creation) -> None:
    """Raises if the key was used before, unless nothing came of it."""

    def job(c: Connection) -> None:
        # Appending first: where several processes write, it locks the events of the workspace.
        events.append(c, by.workspace_id, REQUESTED, creation._asdict(), by=by)
        used = events.naming(c, by.workspace_id, TYPES, creation.key, since=now_ms() - KNOWN_MS)
        check_use(used[:-1], creation)

    await database.write(job)


async def note_answer(database: Database, by: Actor, creation: Creation, id: str) -> None:
    data = {"key": creation.key, "id": id}
    await database.write(lambda c: events.append(c, by.workspace_id, ANSWERED, data, by=by))


async def note_refusal(database: Database, by: Actor, creation: Creation, code: str) -> None:
    """The same key may try again."""
    data = {"key": creation.key, "code": code}
    await database.write(lambda c: events.append(c, by.workspace_id, REFUSED, data, by=by))


def check_use(used: list[Event], creation: Creation) -> None:
    """`used` are the events of this key, oldest first."""
    if not used or used[-1].type == REFUSED:
        return
    requested = next(event for event in reversed(used) if event.type == REQUESTED)
    if requested.data["route"] != creation.route:
        raise reuse_error()
    if used[-1].type == ANSWERED:
        id = str(used[-1].data["id"])
        raise AlreadyCreated(f"an earlier request with this key has created {id}", hint="look at it by its id", id=id)
    raise CreationUnknown(
        "an earlier request with this key was interrupted, or is still under way",
        hint="check whether it was created; if not, repeat the request with a new key",
    )


def reuse_error() -> KeyReused:
    return KeyReused(
        "the idempotency key was already used with another request",
        hint="use a new key for everything that you create",
    )
