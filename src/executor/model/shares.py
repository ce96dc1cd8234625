"""How many of those that wait are taken when there is room for a few: by weights, and without a memory.

In the long run each gets its share exactly, also if there is only ever room for one, and of any number that is taken at
once it gets its share but for less than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from executor.dataclass import dataclass

NO_LIMIT = 1 << 30


@dataclass(frozen=True, slots=True)
class Waiting:
    """Up to `count` executions of an actor are queued with one priority: the lower `rank` goes first.

    `free` is how many more of the actor may run, and `workspace_free` of its workspace.
    """

    workspace_id: str
    actor_id: str
    count: int
    rank: int = 1
    workspace_weight: int = 1
    weight: int = 1
    workspace_free: int = NO_LIMIT
    free: int = NO_LIMIT


def share(waiting: Sequence[Waiting], most: int, chance: Random) -> list[Waiting]:
    """How many of each are taken, as their `count`. Workspaces have their shares, and within each of them the actors
    who wait with its best priority; those with the next one share what is left."""
    by_workspace: dict[str, list[Waiting]] = {}
    for one in waiting:
        by_workspace.setdefault(one.workspace_id, []).append(one)
    groups = list(by_workspace.values())
    caps = [min(group[0].workspace_free, _count_claimable(group)) for group in groups]
    given = allot(most, [group[0].workspace_weight for group in groups], caps, chance)
    shared = zip(groups, given, strict=True)
    return [one for group, count in shared if count for one in _share_one(group, count, chance)]


def _count_claimable(group: Sequence[Waiting]) -> int:
    counts: dict[str, int] = {}
    for one in group:
        counts[one.actor_id] = min(one.free, counts.get(one.actor_id, 0) + one.count)
    return sum(counts.values())


def _share_one(group: Sequence[Waiting], most: int, chance: Random) -> list[Waiting]:
    """Of one workspace."""
    taken: list[Waiting] = []
    free = {one.actor_id: one.free for one in group}
    for rank in sorted({one.rank for one in group}):
        level = [one for one in group if one.rank == rank]
        caps = [min(one.count, free[one.actor_id]) for one in level]
        for one, count in zip(level, allot(most, [one.weight for one in level], caps, chance), strict=True):
            if count:
                taken.append(replace(one, count=count))
                free[one.actor_id] -= count
                most -= count
    return taken


def allot(most: int, weights: Sequence[int], caps: Sequence[int], chance: Random) -> list[int]:
    """Shares of `most` by weight. What one can't use, since its cap is below its share, is shared by the others. Whole
    numbers: who gets the part that is left over is drawn by lot, each with the chance of its own fraction."""
    given = [0] * len(weights)
    still = [place for place, cap in enumerate(caps) if cap > 0]
    while still and most:
        total = sum(weights[place] for place in still)
        full = [place for place in still if caps[place] * total <= most * weights[place]]
        if not full:
            _draw(given, most, chance.sample(still, len(still)), weights, chance)
            break
        for place in full:
            given[place] = caps[place]
        most -= sum(caps[place] for place in full)
        still = [place for place in still if not given[place]]
    return given


def _draw(given: list[int], most: int, order: Sequence[int], weights: Sequence[int], chance: Random) -> None:
    """In whole units of what a share is a part of, so that nothing is rounded."""
    total = sum(weights[place] for place in order)
    passed, next_mark = 0, chance.randrange(total)
    for place in order:
        given[place], rest = divmod(most * weights[place], total)
        passed += rest
        if passed > next_mark:
            given[place] += 1
            next_mark += total
