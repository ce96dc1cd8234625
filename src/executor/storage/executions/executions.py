"""Executions. Anyone who runs one writes only through `fence`: an owner that lost its epoch can't write."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any, get_args

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.errors import Fenced
from executor.model.event import QUEUED, Announcement
from executor.model.execution import Execution, Failure, Limits, Status
from executor.model.fairness import Lane
from executor.model.ids import now_ms
from executor.model.use_limits import RANKS
from executor.storage.prepared_statements import Prepared
from executor.storage.rows import OPTIONAL_ID, RowMapper, Stored, dump, expecting_one, load, read_fields
from executor.storage.scan import Unindexed
from executor.storage.tables.core import artifacts, executions, interactions, workspaces

COUNTED = 10_000
NO_ONE: sa.ColumnElement[str] = sa.literal_column("''")


@lru_cache(maxsize=64)
def _limits(limits: Limits) -> str:
    return dump(asdict(limits))


BY_RANK = {rank: priority for priority, rank in RANKS.items()}


def _failure(failure: Failure | None) -> str | None:
    return None if failure is None else dump(asdict(failure))


mapper = RowMapper(
    Execution,
    limits=Stored(_limits, lambda text: read_fields(Limits, load(text))),
    failure=Stored(_failure, lambda text: read_fields(Failure, load(text)) if text else None),
    artifact_id=OPTIONAL_ID,
    priority=Stored(RANKS.__getitem__, BY_RANK.__getitem__),
)
# Statements on every execution's road are built once; building one costs more than running it.
_id = executions.c.id == sa.bindparam("key")
_insert = Prepared(sa.insert(executions), columns=[column.name for column in executions.c])
_owner = Prepared(sa.select(executions.c.epoch, executions.c.status).where(_id).with_for_update())
_finish = Prepared(
    sa.update(executions)
    .where(_id)
    .values({name: sa.bindparam(f"new_{name}") for name in ("status", "wall_ms", "result", "failure", "artifact_id")})
    .values(updated_at=sa.bindparam("at"), finished_at=sa.bindparam("at"), owner=NO_ONE)
)
_locked = Prepared(sa.select(executions).where(_id).with_for_update())
_claim = Prepared(
    sa.update(executions)
    .where(_id)
    .values(status=sa.literal_column("'running'"), epoch=sa.bindparam("new_epoch"), updated_at=sa.bindparam("at"))
)
_get = Prepared(sa.select(executions).where(_id, executions.c.workspace_id == sa.bindparam("workspace")))
_mark = Prepared(
    sa.update(executions)
    .where(_id)
    .values(status=sa.bindparam("new_status"), wall_ms=sa.bindparam("new_wall_ms"), updated_at=sa.bindparam("at"))
)
_park = Prepared(
    sa.update(executions)
    .where(_id)
    .values(status=sa.bindparam("new_status"), wall_ms=sa.bindparam("new_wall_ms"), updated_at=sa.bindparam("at"))
    .values(owner=NO_ONE)
)
_queue = Prepared(
    sa.update(executions)
    .where(_id)
    .values(status=sa.literal_column("'queued'"), wall_ms=sa.bindparam("new_wall_ms"), updated_at=sa.bindparam("at"))
    .values(owner=NO_ONE, segment=executions.c.segment + sa.literal_column("1"))
)
_requeue = (
    sa.update(executions)
    .where(_id, executions.c.epoch == sa.bindparam("own"), executions.c.status == "running")
    .values(status="queued", wall_ms=sa.bindparam("new_wall_ms"), updated_at=sa.bindparam("at"))
    .values(owner="", segment=executions.c.segment + 1)
)


def insert(c: Connection, execution: Execution) -> None:
    _insert.send(c, mapper.values(execution))


def fence(c: Connection, execution_id: str, epoch: int) -> None:
    """Raise unless `epoch` still owns the execution and it has neither ended nor been queued. The lock lasts until the
    commit."""

    def check(found: Any) -> None:
        row = found.fetchone()
        if row is None or row[0] != epoch or row[1] not in ("running", "paused"):
            raise Fenced(f"execution {execution_id} is no longer owned by epoch {epoch}")

    _owner.send(c, {"key": execution_id}, check)


def lock(c: Connection, execution_ids: Collection[str]) -> None:
    """Before anything else of these executions is read or written, so that two who do never wait for each other."""
    for execution_id in sorted(filter(None, execution_ids)):
        _owner.send(c, {"key": execution_id})


def claim(c: Connection, execution_id: str, *, only: Status | None = None) -> Execution | None:
    """Take it over: running, under one more epoch. None if it isn't `only`, or neither queued nor left running."""
    row = _locked(c, {"key": execution_id}).first()
    if row is None or row.status not in ((only,) if only else ("queued", "running")):
        return None
    at = now_ms()
    _claim(c, {"key": execution_id, "new_epoch": row.epoch + 1, "at": at})
    return replace(mapper.noun(row), status="running", epoch=row.epoch + 1, updated_at=at)


def unpause(c: Connection, execution_id: str) -> int | None:
    """Running again under the epoch that it has: its run is alive. The epoch, or None if it was not paused."""
    row = _locked(c, {"key": execution_id}).first()
    if row is None or row.status != "paused":
        return None
    _change(c, _mark, execution_id, row.wall_ms, "running")
    return int(row.epoch)


def pause(c: Connection, execution_id: str, wall_ms: int) -> None:
    """With calls under way: its run stays alive where it is."""
    _change(c, _mark, execution_id, wall_ms, "paused")


def park(c: Connection, execution_id: str, wall_ms: int) -> None:
    """Paused, and no one runs it."""
    _change(c, _park, execution_id, wall_ms, "paused")


def queue(c: Connection, workspace_id: str, execution_id: str, wall_ms: int) -> None:
    """Leave it to anyone who runs executions: on SQLite to the next start."""
    _change(c, _queue, execution_id, wall_ms, "queued")
    if c.dialect.name != "sqlite":
        announce_queued(c, workspace_id, execution_id)


def _change(c: Connection, statement: Prepared, execution_id: str, wall_ms: int, status: Status) -> None:
    values = {"key": execution_id, "new_wall_ms": wall_ms, "at": now_ms(), "new_status": status}
    statement.send(c, values, expecting_one(f"the status of execution {execution_id}"))


def requeue(c: Connection, left: Sequence[tuple[str, int, int]]) -> None:
    """Several at once: id, epoch and wall time of each. One with another owner by now is not touched."""
    at = now_ms()
    rows = [{"key": key, "own": epoch, "new_wall_ms": wall_ms, "at": at} for key, epoch, wall_ms in sorted(left)]
    if rows:
        c.execute(_requeue, rows)


def announce_queued(c: Connection, workspace_id: str, execution_id: str) -> None:
    """To every process, once it is committed. This is no event: it only saves the wait for the next look."""
    announced: list[Announcement] = c.info.setdefault("new_events", [])
    announced.append(Announcement(workspace_id, execution_id, QUEUED))


def finish(
    c: Connection,
    execution_id: str,
    status: Status,
    at: int,
    wall_ms: int,
    result: str | None,
    failure: Failure | None,
    artifact_id: str = "",
) -> None:
    values = {
        "key": execution_id,
        "new_status": status,
        "new_wall_ms": wall_ms,
        "new_result": result,
        "new_failure": _failure(failure),
        "new_artifact_id": artifact_id or None,
        "at": at,
    }
    _finish.send(c, values, expecting_one(f"the end of execution {execution_id}"))


def cancel(c: Connection, execution_id: str, failure: Failure) -> bool:
    """End it no matter what it does; the raised epoch fences off a run that is under way. False if it had ended."""
    at = now_ms()
    statement = sa.update(executions).where(
        executions.c.id == execution_id, executions.c.status.in_(("queued", "running", "paused"))
    )
    values = {
        "status": "cancelled",
        "epoch": executions.c.epoch + 1,
        "failure": _failure(failure),
        "updated_at": at,
        "finished_at": at,
        "owner": "",
    }
    return c.execute(statement.values(**values)).rowcount == 1


def get(c: Connection, workspace_id: str, execution_id: str) -> Execution | None:
    return mapper.first(_get(c, {"key": execution_id, "workspace": workspace_id}))


def origins(c: Connection, workspace_id: str, ids: Collection[str]) -> dict[str, str]:
    """By which credential each was submitted, and from where."""
    mine = (Unindexed(executions.c.workspace_id) == workspace_id, executions.c.id.in_(ids))
    query = sa.select(executions.c.id, executions.c.origin).where(*mine)
    return {row.id: row.origin for row in c.execute(query)}


def counts(c: Connection, workspace_id: str) -> dict[str, int]:
    """By status, no further than `COUNTED` of each."""
    found: dict[str, int] = {}
    for status in get_args(Status):
        mine = (executions.c.workspace_id == workspace_id, executions.c.status == status)
        some = sa.select(sa.literal(1)).select_from(executions).where(*mine).limit(COUNTED).subquery()
        if count := c.execute(sa.select(sa.func.count()).select_from(some)).scalar_one():
            found[status] = count
    return found


def list_unfinished(c: Connection, attended: Collection[str] = ()) -> list[tuple[str, Lane]]:
    """Executions that should be running but have no owner after a restart, oldest first, with where each waits.

    `attended` were paused with a call under way, which ended with their owner.
    """
    everywhere = executions.c.workspace_id.in_(sa.select(workspaces.c.id))  # so that the index serves
    names = ("id", "actor_id", "runtime", "workspace_id", "priority")
    found = [executions.c[name] for name in names]
    unfinished = sa.and_(everywhere, executions.c.status.in_(("queued", "running")))
    paused = sa.and_(executions.c.id.in_(attended), executions.c.status == "paused")
    rows = [row for which in (unfinished, paused) for row in c.execute(sa.select(*found).where(which))]
    return sorted((key, Lane(*lane)) for key, *lane in rows)


def newest_ids(c: Connection) -> list[str]:
    """Of what is listed newest first."""
    found = [c.execute(sa.select(sa.func.max(table.c.id))).scalar() for table in (executions, interactions, artifacts)]
    return [key for key in found if key]
