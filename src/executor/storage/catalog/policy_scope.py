"""What policies reach: the tools there are now, and the calls that were made."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.execution import PastCall
from executor.model.tool import Effect
from executor.storage.executions import execution_search
from executor.storage.rows import load
from executor.storage.scan import Page, Unindexed
from executor.storage.tables.core import actors, calls, executions, listings, tools

MAX_ARGUMENTS = 1_000_000
LOOKED_AT = 10_000  # executions, of one answer
BLOCK = 250
ALL_ARGUMENTS = 8_000_000  # of one answer: as values they take up to thirty times as much


def tool_heads(c: Connection, workspace_id: str, namespace: str = "") -> Iterator[tuple[str, Effect, str]]:
    """Path, effect and source of every tool, or of those of one namespace."""
    seen = (listings.c.source_id == tools.c.source_id) & (listings.c.generation == tools.c.generation)
    query = sa.select(tools.c.path, tools.c.effect, tools.c.source_id).join(listings, seen)
    query = query.where(tools.c.workspace_id == workspace_id)
    if namespace:
        query = query.where(tools.c.path >= f"{namespace}.", tools.c.path < f"{namespace}/")  # "/" follows "."
    for row in c.execute(query.order_by(tools.c.path)):
        yield row.path, row.effect, row.source_id


class PastCalls(Page[PastCall]):
    """`executions` is how many were looked through for these."""

    executions: int = 0


def past_calls(c: Connection, workspace_id: str, *, limit: int, before: tuple[str, int] | None = None) -> PastCalls:
    """Newest first, of the newest executions. Most may have called nothing, so there is a bound on how many."""
    last, seq = before or (execution_search.LAST, 0)
    found, looked, room = list[PastCall](), 0, ALL_ARGUMENTS
    if seq:
        found, room = _calls_of(c, [last], limit, room, below=seq)
    while len(found) < limit and looked < LOOKED_AT:
        ids = execution_search.newest(c, workspace_id, last, BLOCK)
        if not ids:
            return _count_calls(PastCalls(found), looked)
        more, room = _calls_of(c, ids, limit - len(found), room)
        found += more
        looked, last = looked + len(ids), ids[-1]
    full = len(found) >= limit
    return _count_calls(PastCalls(found, (found[-1].execution_id, found[-1].seq) if full else (last, 0)), looked)


def _count_calls(past: PastCalls, executions: int) -> PastCalls:
    past.executions = executions
    return past


def _calls_of(
    c: Connection, ids: list[str], limit: int, room: int, *, below: int | None = None
) -> tuple[list[PastCall], int]:
    t = calls.c
    columns = (t.execution_id, t.seq, t.path, t.effect, t.source_id, t.created_at, t.state)
    small = sa.case((sa.func.length(t.arguments) <= MAX_ARGUMENTS, t.arguments)).label("arguments")
    query = (
        sa.select(*columns, small, executions.c.actor_id)
        .join(executions, executions.c.id == t.execution_id)
        .where(t.execution_id.in_(ids), t.kind == "tool", t.source_id != "")
    )
    if below is not None:
        query = query.where(t.seq < below)
    found: list[PastCall] = []
    for row in c.execute(query.order_by(t.execution_id.desc(), t.seq.desc()).limit(limit)):
        room -= len(row.arguments or "")
        arguments = load(row.arguments) if room >= 0 else None
        heads = (row.execution_id, row.seq, row.path, row.effect, row.source_id, row.actor_id)
        found.append(PastCall(*heads, arguments, row.created_at, row.state))
    return found, room


def actor_names(c: Connection, workspace_id: str, ids: Collection[str] | None = None) -> dict[str, str]:
    """Of all, or of those with these ids."""
    query = sa.select(actors.c.id, actors.c.name)
    if ids is None:
        query = query.where(actors.c.workspace_id == workspace_id)
    else:
        query = query.where(Unindexed(actors.c.workspace_id) == workspace_id, actors.c.id.in_(ids))
    return {row.id: row.name for row in c.execute(query)}
