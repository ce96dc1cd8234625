"""What rules reach: the tools there are now, and the calls that were made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.tool import Effect
from executor.storage.rows import load
from executor.storage.tables import actors, calls, executions, listings, tools

MAX_ARGUMENTS = 1_000_000
ALL_ARGUMENTS = 8_000_000  # of one answer: as values they take up to thirty times as much


@dataclass(frozen=True, slots=True)
class PastCall:
    """`arguments` is None where they are too large to be judged again."""

    execution_id: str
    seq: int
    path: str
    effect: Effect
    source_id: str
    actor_id: str
    arguments: dict[str, object] | None
    at: int
    state: str


def tool_heads(c: Connection, workspace_id: str, namespace: str = "") -> Iterator[tuple[str, Effect, str]]:
    """Path, effect and source of every tool, or of those of one namespace."""
    seen = (listings.c.source_id == tools.c.source_id) & (listings.c.generation == tools.c.generation)
    query = sa.select(tools.c.path, tools.c.effect, tools.c.source_id).join(listings, seen)
    query = query.where(tools.c.workspace_id == workspace_id)
    if namespace:
        query = query.where(tools.c.path >= f"{namespace}.", tools.c.path < f"{namespace}/")  # "/" follows "."
    for row in c.execute(query.order_by(tools.c.path)):
        yield row.path, row.effect, row.source_id


def past_calls(
    c: Connection, workspace_id: str, *, limit: int, before: tuple[str, int] | None = None
) -> list[PastCall]:
    """Newest first."""
    t = calls.c
    columns = (t.execution_id, t.seq, t.path, t.effect, t.source_id, t.created_at, t.state)
    small = sa.case((sa.func.length(t.arguments) <= MAX_ARGUMENTS, t.arguments)).label("arguments")
    query = (
        sa.select(*columns, small, executions.c.actor_id)
        .join(executions, executions.c.id == calls.c.execution_id)
        .where(calls.c.workspace_id == workspace_id, calls.c.kind == "tool", calls.c.source_id != "")
    )
    if before is not None:
        query = query.where(sa.tuple_(calls.c.execution_id, calls.c.seq) < sa.tuple_(*map(sa.literal, before)))
    ordered = query.order_by(calls.c.execution_id.desc(), calls.c.seq.desc()).limit(limit)
    found, room = list[PastCall](), ALL_ARGUMENTS
    for row in c.execute(ordered):
        room -= len(row.arguments or "")
        arguments = load(row.arguments) if room >= 0 else None
        found.append(
            PastCall(
                row.execution_id,
                row.seq,
                row.path,
                row.effect,
                row.source_id,
                row.actor_id,
                arguments,
                row.created_at,
                row.state,
            )
        )
    return found


def actor_names(c: Connection, workspace_id: str) -> dict[str, str]:
    query = sa.select(actors.c.id, actors.c.name).where(actors.c.workspace_id == workspace_id)
    return {row.id: row.name for row in c.execute(query)}
