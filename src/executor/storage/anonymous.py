"""Sessions of agents that nobody vouches for, each in a workspace of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.storage.access import anonymous_sessions


@dataclass(frozen=True, slots=True)
class AnonymousSession:
    id: str
    workspace_id: str
    actor_id: str
    client_id: str
    created_at: int
    last_seen_at: int


def insert(c: Connection, session: AnonymousSession, digest: str) -> None:
    c.execute(
        sa.insert(anonymous_sessions),
        {
            "id": session.id,
            "workspace_id": session.workspace_id,
            "actor_id": session.actor_id,
            "client_id": session.client_id,
            "digest": digest,
            "created_at": session.created_at,
            "last_seen_at": session.last_seen_at,
        },
    )


def by_digest(c: Connection, digest: str, since: int) -> AnonymousSession | None:
    """One that was in use since then."""
    wanted = (anonymous_sessions.c.digest == digest, anonymous_sessions.c.last_seen_at > since)
    row = c.execute(sa.select(anonymous_sessions).where(*wanted)).first()
    return _session(row) if row else None


def touch(c: Connection, workspace_id: str, session_id: str, at: int) -> None:
    mine = (anonymous_sessions.c.workspace_id == workspace_id, anonymous_sessions.c.id == session_id)
    c.execute(sa.update(anonymous_sessions).where(*mine).values(last_seen_at=at))


def unused(c: Connection, since: int) -> list[AnonymousSession]:
    """Of all workspaces: each has one."""
    query = sa.select(anonymous_sessions).where(anonymous_sessions.c.last_seen_at <= since)
    return [_session(row) for row in c.execute(query)]


def remove(c: Connection, workspace_id: str, session_id: str) -> None:
    mine = (anonymous_sessions.c.workspace_id == workspace_id, anonymous_sessions.c.id == session_id)
    c.execute(sa.delete(anonymous_sessions).where(*mine))


def count(c: Connection) -> int:
    return int(c.execute(sa.select(sa.func.count()).select_from(anonymous_sessions)).scalar_one())


def _session(row: Any) -> AnonymousSession:
    return AnonymousSession(row.id, row.workspace_id, row.actor_id, row.client_id, row.created_at, row.last_seen_at)
