"""Whose queued executions are claimed next, on PostgreSQL: workspaces have shares by their weights, and in each of them
so have its actors.

How many one of them has queued makes no difference to the others, nor to what a claim costs: it takes as many steps in
an index as there are actors that wait, for each priority that they wait with. Shares are drawn by lot, so processes
need no common memory of who was served last. The oldest of an actor comes first.

Limits on what runs are exact across processes: anyone who raises a count holds the lock of its workspace, and counts
after that.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.shares import NO_LIMIT, Waiting, share
from executor.model.use_limits import UNBOUND, Bounds
from executor.storage.executions import usage
from executor.storage.prepared_statements import Prepared
from executor.storage.tables.core import executions

# What is in force for each of some actors, and how many more of them may run. That is counted only where it is limited.
_BOUND = """bound AS (
    SELECT lanes.*, coalesce(w.weight, :workspace_weight) AS workspace_weight, coalesce(a.weight, :weight) AS weight,
        coalesce(w.running, :workspace_running) AS workspace_running, coalesce(a.running, :running) AS running
    FROM lanes
    LEFT JOIN use_limits AS w ON w.workspace_id = lanes.workspace_id AND w.actor_id = ''
    LEFT JOIN use_limits AS a ON a.workspace_id = lanes.workspace_id AND a.actor_id = lanes.actor_id
)"""
_FREE = f"""CASE WHEN workspace_running = 0 THEN {NO_LIMIT} ELSE
    workspace_running - ({usage.OWNED_OF_WORKSPACE.format("bound", "workspace_running")})
END AS workspace_free, CASE WHEN running = 0 THEN {NO_LIMIT} ELSE
    running - ({usage.OWNED_OF_ACTOR.format("bound", "running")})
END AS free FROM bound"""
# In the order of the partial index of what is queued, and compared as it is ordered: with `=`, PostgreSQL prefers to
# walk the whole table where most rows are of one actor.
_waiting = sa.text(f"""
WITH RECURSIVE lanes (workspace_id, priority, actor_id) AS (
    (SELECT workspace_id, priority, actor_id FROM executions WHERE status = 'queued'
        ORDER BY workspace_id, priority, actor_id LIMIT 1)
    UNION ALL
    SELECT next.workspace_id, next.priority, next.actor_id FROM lanes CROSS JOIN LATERAL (
        SELECT workspace_id, priority, actor_id FROM executions WHERE status = 'queued'
        AND (workspace_id, priority, actor_id) > (lanes.workspace_id, lanes.priority, lanes.actor_id)
        ORDER BY workspace_id, priority, actor_id LIMIT 1
    ) AS next
), {_BOUND}
SELECT workspace_id, actor_id, (
    SELECT count(*) FROM (
        SELECT 1 FROM executions WHERE status = 'queued'
        AND (workspace_id, priority, actor_id) >= (bound.workspace_id, bound.priority, bound.actor_id)
        AND (workspace_id, priority, actor_id) <= (bound.workspace_id, bound.priority, bound.actor_id)
        ORDER BY workspace_id, priority, actor_id, id LIMIT :most
    ) AS queued
) AS count, priority, workspace_weight, weight, {_FREE}
""")  # noqa: S608 - words of ours
_still_free = sa.text(f"""
WITH lanes AS (
    SELECT * FROM unnest(CAST(:workspaces AS text[]), CAST(:actors AS text[])) AS lanes (workspace_id, actor_id)
), {_BOUND}
SELECT workspace_id, actor_id, {_FREE}
""")  # noqa: S608 - words of ours
_oldest = sa.text("""
SELECT oldest.* FROM unnest(
    CAST(:workspaces AS text[]), CAST(:ranks AS int[]), CAST(:actors AS text[]), CAST(:counts AS int[])
) AS share (workspace_id, priority, actor_id, count) CROSS JOIN LATERAL (
    SELECT * FROM executions WHERE status = 'queued'
    AND (workspace_id, priority, actor_id) >= (share.workspace_id, share.priority, share.actor_id)
    AND (workspace_id, priority, actor_id) <= (share.workspace_id, share.priority, share.actor_id)
    ORDER BY workspace_id, priority, actor_id, id LIMIT share.count FOR UPDATE SKIP LOCKED
) AS oldest
""").columns(*executions.c)
# Whatever the statistics say, the index has the order. This travels with the next statement.
_forbid_sorts = Prepared(
    sa.text("SELECT set_config('enable_sort', 'off', true), set_config('enable_incremental_sort', 'off', true)")
)


def lock_queued(c: Connection, most: int, defaults: Bounds = UNBOUND) -> tuple[Sequence[Any], frozenset[str]]:
    """Rows to claim, and the workspaces in which limits may hold some back. Rows that another process is just claiming
    are left to it."""
    values = _read_defaults(defaults)
    _forbid_sorts.send(c, {})
    waiting = [Waiting(*row) for row in c.execute(_waiting, {**values, "most": most})]
    chosen = _keep_free(c, share(waiting, most, random.SystemRandom()), values)
    held_back = frozenset(one.workspace_id for one in waiting if min(one.free, one.workspace_free) < most)
    if not chosen:
        return [], held_back
    numbers = {"ranks": [one.rank for one in chosen], "counts": [one.count for one in chosen]}
    return c.execute(_oldest, {**_name(chosen), **numbers}).all(), held_back


def _keep_free(c: Connection, chosen: Sequence[Waiting], values: dict[str, int]) -> list[Waiting]:
    """As many of those as may still run, counted once more when no one else can raise the counts."""
    kept = [one for one in chosen if min(one.free, one.workspace_free) >= NO_LIMIT]
    bound = [one for one in chosen if min(one.free, one.workspace_free) < NO_LIMIT]
    if not bound:
        return kept
    usage.lock_workspaces(c, {one.workspace_id for one in bound})
    free: dict[str, int] = {}
    for workspace_id, actor_id, *left in c.execute(_still_free, {**values, **_name(bound)}):
        free[workspace_id], free[actor_id] = left
    for one in bound:
        count = min(one.count, free[one.workspace_id], free[one.actor_id])
        if count > 0:
            kept.append(replace(one, count=count))
            free[one.workspace_id] -= count
            free[one.actor_id] -= count
    return kept


def _name(waiting: Sequence[Waiting]) -> dict[str, list[str]]:
    return {"workspaces": [one.workspace_id for one in waiting], "actors": [one.actor_id for one in waiting]}


def _read_defaults(defaults: Bounds) -> dict[str, int]:
    workspace, actor = defaults.workspace, defaults.actor
    values = {"workspace_weight": workspace.weight, "workspace_running": workspace.running}
    return {**values, "weight": actor.weight, "running": actor.running}
