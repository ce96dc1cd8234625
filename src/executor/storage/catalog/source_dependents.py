"""What depends on a source: asked before it is removed."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection as Database

from executor.dataclass import dataclass
from executor.model.policy import Policy
from executor.model.source import Source
from executor.storage.scan import Unindexed
from executor.storage.tables.core import calls, executions, interactions

WAITING = 50
LOOKED_AT = 500


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call of it with a pending interaction."""

    execution_id: str
    interaction_id: str
    path: str
    since: int


def names(policy: Policy, source: Source) -> bool:
    """It is about this source and no other."""
    return policy.source_id == source.id or policy.pattern.split(".")[0] == source.namespace


def waiting(c: Database, source: Source) -> list[Waiting]:
    asked = sa.and_(calls.c.execution_id == interactions.c.execution_id, calls.c.seq == interactions.c.call_seq)
    query = (
        sa.select(interactions.c.execution_id, interactions.c.id, calls.c.path, interactions.c.created_at)
        .join_from(interactions, calls, asked)
        .where(
            interactions.c.workspace_id == source.workspace_id,
            interactions.c.status == "pending",
            calls.c.source_id == source.id,
        )
        .order_by(interactions.c.id)
        .limit(WAITING)
    )
    return [Waiting(*row) for row in c.execute(query)]


def recent(c: Database, source: Source) -> tuple[int, int | None]:
    """Of the last executions only: there is no index by source, and there may be millions of calls."""
    last = (
        sa.select(executions.c.id)
        .where(executions.c.workspace_id == source.workspace_id)
        .order_by(executions.c.id.desc())
        .limit(LOOKED_AT)
        .subquery()
    )
    query = (
        sa.select(sa.func.count(), sa.func.max(calls.c.created_at))
        .join_from(last, calls, calls.c.execution_id == last.c.id)
        .where(Unindexed(calls.c.workspace_id) == source.workspace_id, calls.c.source_id == source.id)
    )
    count, at = c.execute(query).one()
    return int(count), at
