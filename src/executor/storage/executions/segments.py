"""Segments: what a process takes of an execution at a time, where several processes share a PostgreSQL database.

An execution that is queued belongs to anyone; its owner is the process that claimed it, under an epoch of its own. A
process that is lost loses all of its executions at once, whatever it still believes. The execution's row is locked
before anything else of it, always.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.execution import Execution
from executor.model.ids import now_ms
from executor.model.use_limits import UNBOUND, Bounds
from executor.storage.executions import claim_order
from executor.storage.executions.executions import announce_queued, claim, mapper
from executor.storage.prepared_statements import Prepared
from executor.storage.tables.cluster import workers
from executor.storage.tables.core import OWNED, QUEUED, executions

_e = executions.c
_id = _e.id == sa.bindparam("key")
_locked = Prepared(sa.select(executions).where(_id).with_for_update())
_take = Prepared(
    sa.update(executions)
    .where(_id)
    .values(status=sa.literal_column("'running'"), epoch=sa.bindparam("new_epoch"), updated_at=sa.bindparam("at"))
    .values(owner=sa.bindparam("new_owner"))
)
_put_back = Prepared(
    sa.update(executions)
    .where(_id)
    .values(status=sa.literal_column("'queued'"), epoch=sa.bindparam("new_epoch"), updated_at=sa.bindparam("at"))
    .values(owner=sa.literal_column("''"), segment=sa.bindparam("new_segment"), attempts=sa.bindparam("new_attempts"))
)
_progress = Prepared(sa.update(executions).where(_id).values(attempts=sa.literal_column("0")))
_dead = sa.select(workers.c.id).where(workers.c.dead_at.is_not(None))
_others = Prepared(sa.select(workers.c.id).where(workers.c.dead_at.is_(None), workers.c.id != sa.bindparam("own")))
_is_lost = (OWNED, _e.owner.in_(_dead), _e.status.in_(("running", "paused")))


class Claimed(list[Execution]):
    """`held_back` are the workspaces in which limits may keep others waiting."""

    def __init__(self, found: Iterable[Execution], held_back: frozenset[str] = frozenset()) -> None:
        super().__init__(found)
        self.held_back = held_back


def has_others(c: Connection, own: str) -> bool:
    """Whether another process uses the database, as far as anyone knows."""
    return _others(c, {"own": own}).first() is not None


def is_shared(c: Connection) -> bool:
    """Whether several processes use the database, or one that is never meant to be alone."""
    roles = [row.role for row in c.execute(sa.select(workers.c.role).where(workers.c.dead_at.is_(None)))]
    return len(roles) > 1 or any(role != "up" for role in roles)


def resume(c: Connection, execution_id: str) -> Execution | None:
    """A parked execution continues: on SQLite in this very process, else wherever it is claimed. None if it was not."""
    if c.dialect.name == "sqlite":
        return claim(c, execution_id, only="paused")
    row = _locked(c, {"key": execution_id}).first()
    if row is None or row.status != "paused":
        return None
    return _queue_again(c, mapper.noun(row))


def claim_queued(c: Connection, owner: str, most: int, defaults: Bounds = UNBOUND) -> Claimed:
    """By the shares of workspaces and actors, each under an epoch of its own. What another process is just claiming is
    left to it. `defaults` are the limits of those for whom none were chosen."""
    at = now_ms()
    rows, held_back = claim_order.lock_queued(c, most, defaults)
    found = [mapper.noun(row) for row in rows]
    for one in found:
        _take.send(c, {"key": one.id, "new_epoch": one.epoch + 1, "at": at, "new_owner": owner})
    claimed = [replace(one, status="running", epoch=one.epoch + 1, owner=owner, updated_at=at) for one in found]
    return Claimed(claimed, held_back)


def lock_lost(c: Connection, most: int) -> list[Execution]:
    """Those of processes that were declared dead. What is locked just now is left to the next look."""
    query = sa.select(executions).where(*_is_lost).order_by(_e.id).limit(most)
    return mapper.every(c.execute(query.with_for_update(skip_locked=True)))


def lock_owned(c: Connection, owner: str) -> list[Execution]:
    query = sa.select(executions).where(OWNED, _e.owner == owner, _e.status.in_(("running", "paused")))
    return mapper.every(c.execute(query.order_by(_e.id).with_for_update()))


def lock_one(c: Connection, execution_id: str) -> Execution | None:
    """None unless it is run somewhere."""
    row = _locked(c, {"key": execution_id}).first()
    return mapper.noun(row) if row is not None and row.status in ("running", "paused") else None


def lock_run(c: Connection, execution: Execution) -> Execution | None:
    """None if it has ended, or is no longer run under this epoch."""
    locked = lock_one(c, execution.id)
    return locked if locked is not None and locked.epoch == execution.epoch else None


def put_back(c: Connection, locked: Execution, *, counts: bool) -> Execution:
    """Queued again under a new epoch, so that its owner can write nothing more. `counts` if that was lost."""
    attempts = locked.attempts + counts
    return _queue_again(c, replace(locked, epoch=locked.epoch + 1, attempts=attempts))


def note_progress(c: Connection, execution_id: str) -> None:
    """It got an answer, so that the next loss of its process counts as the first."""
    _progress.send(c, {"key": execution_id})


def has_queued(c: Connection) -> bool:
    return c.execute(sa.select(_e.id).where(QUEUED).limit(1)).first() is not None


def has_lost(c: Connection) -> bool:
    return c.execute(sa.select(_e.id).where(*_is_lost).limit(1)).first() is not None


def list_owned(c: Connection, owner: str) -> set[str]:
    return set(c.execute(sa.select(_e.id).where(OWNED, _e.owner == owner)).scalars())


def _queue_again(c: Connection, execution: Execution) -> Execution:
    at = now_ms()
    queued = replace(execution, status="queued", owner="", segment=execution.segment + 1, updated_at=at)
    values = {"new_epoch": queued.epoch, "new_segment": queued.segment, "new_attempts": queued.attempts}
    _put_back.send(c, {"key": queued.id, "at": at, **values})
    announce_queued(c, queued.workspace_id, queued.id)
    return queued
