"""Permits: what a human allowed for the rest of one execution; and what a human denied in it."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.model.ids import now_ms
from executor.model.interaction import Binding, Interaction
from executor.model.source import Source
from executor.storage.rows import load
from executor.storage.tables.access import permits
from executor.storage.tables.core import calls, executions, interactions
from executor.storage.upserts import upsert

LIVE = ("queued", "running", "paused")


@dataclass(frozen=True, slots=True)
class Permit:
    """Applies to the tool as it was when it was given, sent to where it went then, with the credential it had then."""

    path: str
    schema_digest: str
    source_digest: str
    connection: str = ""

    def fits(self, binding: Binding) -> bool:
        now = (binding.path, binding.schema_digest, binding.source_digest, binding.connection)
        return now == (self.path, self.schema_digest, self.source_digest, self.connection)


@dataclass(frozen=True, slots=True)
class Denied:
    path: str
    arguments: dict[str, Any]
    reason: str


@dataclass(slots=True)
class Decisions:
    """What was decided earlier in an execution: permits by path, and denials.

    `reasons` are those of the denials, by what their calls would have sent: found out when it first matters.
    """

    permits: dict[str, Permit]
    denials: list[Denied]
    reasons: dict[str, str] | None = None


def add(c: Connection, asked: Interaction) -> None:
    permit = {
        "execution_id": asked.execution_id,
        "path": asked.binding.path,
        "workspace_id": asked.workspace_id,
        "schema_digest": asked.binding.schema_digest,
        "source_digest": asked.binding.source_digest,
        "connection": asked.binding.connection,
        "interaction_id": asked.id,
        "created_at": now_ms(),
    }
    upsert(c, permits, ("execution_id", "path"), permit)


def of_execution(c: Connection, execution_id: str) -> Decisions:
    query = sa.select(permits).where(permits.c.execution_id == execution_id)
    given = {
        row.path: Permit(row.path, row.schema_digest, row.source_digest, row.connection) for row in c.execute(query)
    }
    return Decisions(given, _denials(c, execution_id))


def count_live(c: Connection, source: Source) -> int:
    """Permits for tools of a source, in executions that have not ended."""
    path = sa.and_(permits.c.path > f"{source.namespace}.", permits.c.path < f"{source.namespace}/")
    query = (
        sa.select(sa.func.count())
        .join_from(executions, permits, permits.c.execution_id == executions.c.id)
        .where(executions.c.workspace_id == source.workspace_id, executions.c.status.in_(LIVE), path)
    )
    return int(c.execute(query).scalar_one())


def _denials(c: Connection, execution_id: str) -> list[Denied]:
    same = (interactions.c.execution_id == calls.c.execution_id) & (interactions.c.call_seq == calls.c.seq)
    query = (
        sa.select(calls.c.path, calls.c.arguments, interactions.c.reason)
        .join_from(interactions, calls, same)
        .where(interactions.c.execution_id == execution_id)
        .where(interactions.c.status == "denied", interactions.c.kind == "approval")
    )
    return [Denied(row.path, load(row.arguments), row.reason) for row in c.execute(query)]
