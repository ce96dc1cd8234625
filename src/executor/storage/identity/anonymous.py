"""Sessions of agents that no one vouches for, each in a workspace of its own, and what is kept there."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.identity.access import AnonymousSession
from executor.storage.rows import RowMapper
from executor.storage.tables.access import anonymous_sessions
from executor.storage.tables.core import (
    artifacts,
    calls,
    definitions,
    documents,
    events,
    executions,
    metadata,
    organizations,
    sources,
    tool_versions,
    tools,
    workspaces,
)

ROW = 200  # bytes that a row takes besides its content, about
_rows = RowMapper(AnonymousSession)


def insert(c: Connection, session: AnonymousSession, digest: str, human_digest: str = "") -> None:
    values = {**_rows.values(session), "digest": digest, "human_digest": human_digest}
    c.execute(sa.insert(anonymous_sessions), values)


def by_cookie(c: Connection, digest: str, now: int) -> AnonymousSession | None:
    """One whose browser shows this, and that has not ended."""
    wanted = (anonymous_sessions.c.human_digest == digest, anonymous_sessions.c.expires_at > now)
    return _rows.first(c.execute(sa.select(anonymous_sessions).where(*wanted)))


def of_workspace(c: Connection, workspace_id: str) -> AnonymousSession | None:
    mine = anonymous_sessions.c.workspace_id == workspace_id
    return _rows.first(c.execute(sa.select(anonymous_sessions).where(mine)))


def by_digest(c: Connection, digest: str, since: int) -> AnonymousSession | None:
    """One that was in use since then."""
    wanted = (anonymous_sessions.c.digest == digest, anonymous_sessions.c.last_seen_at > since)
    return _rows.first(c.execute(sa.select(anonymous_sessions).where(*wanted)))


def client_of(c: Connection, workspace_id: str, actor_id: str) -> str:
    mine = (anonymous_sessions.c.workspace_id == workspace_id, anonymous_sessions.c.actor_id == actor_id)
    return c.execute(sa.select(anonymous_sessions.c.client_id).where(*mine)).scalar() or ""


def touch(c: Connection, workspace_id: str, at: int) -> None:
    mine = anonymous_sessions.c.workspace_id == workspace_id
    c.execute(sa.update(anonymous_sessions).where(mine).values(last_seen_at=at))


def list_lapsed(c: Connection, now: int, since: int, idle_since: int) -> list[AnonymousSession]:
    """Of all workspaces: each has one. Those that have ended, that no one has used since, or in which nothing ever
    ran."""
    sessions = anonymous_sessions.c
    ran = sa.exists().where(executions.c.workspace_id == sessions.workspace_id)
    idle = sa.and_(sessions.last_seen_at <= idle_since, ~ran)
    ended = sessions.expires_at <= now
    query = sa.select(anonymous_sessions).where(sa.or_(ended, sessions.last_seen_at <= since, idle))
    return _rows.every(c.execute(query))


def listing(c: Connection) -> list[AnonymousSession]:
    return _rows.every(c.execute(sa.select(anonymous_sessions).order_by(anonymous_sessions.c.id)))


def erase(c: Connection, workspace_id: str) -> None:
    """The whole workspace with its organization. No one but its agent could ever see what was in it."""
    organization = sa.select(workspaces.c.organization_id).where(workspaces.c.id == workspace_id)
    organization_id = c.execute(organization).scalar_one()
    for table in reversed(metadata.sorted_tables):
        if "workspace_id" in table.c:
            c.execute(sa.delete(table).where(table.c.workspace_id == workspace_id))
    c.execute(sa.delete(workspaces).where(workspaces.c.id == workspace_id))
    c.execute(sa.delete(organizations).where(organizations.c.id == organization_id))


def uses(c: Connection) -> dict[str, tuple[int, int, list[str]]]:
    """Of each workspace of a session: its executions, the bytes that it keeps, and which executions have not ended."""
    return {one.workspace_id: use(c, one.workspace_id) for one in listing(c)}


def use(c: Connection, workspace_id: str) -> tuple[int, int, list[str]]:
    mine = executions.c.workspace_id == workspace_id
    count = int(c.execute(sa.select(sa.func.count()).select_from(executions).where(mine)).scalar_one())
    live = sa.select(executions.c.id).where(mine, executions.c.status.in_(("queued", "running", "paused")))
    return count, size(c, workspace_id), list(c.execute(live).scalars())


def size(c: Connection, workspace_id: str, of: Collection[str] | None = None) -> int:
    """Bytes of everything that it keeps, or of these executions."""
    parts = [
        (executions, executions.c.id, (executions.c.code, executions.c.result, executions.c.failure)),
        (calls, calls.c.execution_id, (calls.c.arguments, calls.c.result, calls.c.failure)),
        (events, events.c.execution_id, (events.c.data,)),
        (artifacts, artifacts.c.execution_id, (artifacts.c.preview,)),
    ]
    total = 0
    for table, owner, texts in parts:
        content = sum((_length(column) for column in texts), sa.literal(ROW))
        if table is artifacts:
            content += artifacts.c.size
        query = sa.select(sa.func.coalesce(sa.func.sum(content), 0)).where(table.c.workspace_id == workspace_id)
        total += int(c.execute(query if of is None else query.where(owner.in_(of))).scalar_one())
    return total if of is not None else total + size_of_sources(c, workspace_id)


def size_of_sources(c: Connection, workspace_id: str) -> int:
    """Bytes of the tools of its sources, and of the documents they were read from."""
    parts: list[tuple[sa.Table, tuple[sa.Column[Any], ...]]] = [
        (sources, (sources.c.config, sources.c.skipped)),
        (tools, (tools.c.path, tools.c.description, tools.c.tags)),
        (tool_versions, (tool_versions.c.input_schema, tool_versions.c.output_schema, tool_versions.c.binding)),
        (definitions, (definitions.c.schema, definitions.c.links)),
        (documents, (documents.c.content,)),
    ]
    total = 0
    for table, texts in parts:
        content = sum((_length(column) for column in texts), sa.literal(ROW))
        query = sa.select(sa.func.coalesce(sa.func.sum(content), 0)).where(table.c.workspace_id == workspace_id)
        total += int(c.execute(query).scalar_one())
    return total


def count_sources(c: Connection, workspace_id: str) -> int:
    mine = sources.c.workspace_id == workspace_id
    return int(c.execute(sa.select(sa.func.count()).select_from(sources).where(mine)).scalar_one())


def _length(column: sa.Column[Any]) -> sa.ColumnElement[int]:
    return sa.func.coalesce(sa.func.length(sa.cast(column, sa.LargeBinary)), 0)


def count(c: Connection) -> int:
    return int(c.execute(sa.select(sa.func.count()).select_from(anonymous_sessions)).scalar_one())
