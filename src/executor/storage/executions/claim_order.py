"""Whose queued executions are claimed next, on PostgreSQL: workspaces by turns, and in each of them actors by turns.

How many one of them has queued makes no difference to the others, nor to what a claim costs: it takes as many steps in
an index as there are actors that wait. Who begins is drawn by lot, so processes need no common memory of who was
served last: of n workspaces that wait, each gets the n-th part in the long run, and the oldest of an actor comes first.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.storage.tables.core import executions

# In the order of the partial index of what is queued, and compared as it is ordered: with `=`, PostgreSQL prefers to
# walk the whole table where most rows are of one actor.
_waiting = sa.text("""
WITH RECURSIVE actors (workspace_id, actor_id) AS (
    (SELECT workspace_id, actor_id FROM executions WHERE status = 'queued' ORDER BY workspace_id, actor_id LIMIT 1)
    UNION ALL
    SELECT next.workspace_id, next.actor_id FROM actors CROSS JOIN LATERAL (
        SELECT workspace_id, actor_id FROM executions
        WHERE status = 'queued' AND (workspace_id, actor_id) > (actors.workspace_id, actors.actor_id)
        ORDER BY workspace_id, actor_id LIMIT 1
    ) AS next
)
SELECT workspace_id, actor_id, (
    SELECT count(*) FROM (
        SELECT 1 FROM executions WHERE status = 'queued'
        AND (workspace_id, actor_id) >= (actors.workspace_id, actors.actor_id)
        AND (workspace_id, actor_id) <= (actors.workspace_id, actors.actor_id)
        ORDER BY workspace_id, actor_id, id LIMIT :most
    ) AS queued
) AS count FROM actors
""")
_oldest = sa.text("""
SELECT oldest.* FROM unnest(
    CAST(:workspaces AS text[]), CAST(:actors AS text[]), CAST(:counts AS int[])
) AS share (workspace_id, actor_id, count) CROSS JOIN LATERAL (
    SELECT * FROM executions WHERE status = 'queued'
    AND (workspace_id, actor_id) >= (share.workspace_id, share.actor_id)
    AND (workspace_id, actor_id) <= (share.workspace_id, share.actor_id)
    ORDER BY workspace_id, actor_id, id LIMIT share.count FOR UPDATE SKIP LOCKED
) AS oldest
""").columns(*executions.c)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Up to `count` executions of an actor are queued."""

    workspace_id: str
    actor_id: str
    count: int


def lock_queued(c: Connection, most: int) -> Sequence[Any]:
    """Rows to claim. Those that another process is just claiming are left to it."""
    waiting = [Waiting(*row) for row in c.execute(_waiting, {"most": most})]
    shares = share(waiting, most, random.SystemRandom())
    if not shares:
        return []
    columns = {"workspaces": [one.workspace_id for one in shares], "actors": [one.actor_id for one in shares]}
    return c.execute(_oldest, {**columns, "counts": [one.count for one in shares]}).all()


def share(waiting: Sequence[Waiting], most: int, chance: random.Random) -> list[Waiting]:
    """How many of each are taken: one of each workspace in turn, and within a workspace one of each actor in turn."""
    by_workspace: dict[str, list[Waiting]] = {}
    for one in chance.sample(waiting, len(waiting)):
        by_workspace.setdefault(one.workspace_id, []).append(one)
    queues = [[one for turn in range(most) for one in actors if turn < one.count] for actors in by_workspace.values()]
    turns = [queue[turn] for turn in range(most) for queue in chance.sample(queues, len(queues)) if turn < len(queue)]
    taken = Counter(turns[:most])
    return [Waiting(one.workspace_id, one.actor_id, count) for one, count in taken.items()]
