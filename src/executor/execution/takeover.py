"""What becomes of executions whose process is gone, where several processes share the database."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from executor.execution import failures
from executor.execution.journal.journal import close_in, withdraw_in
from executor.model.execution import Execution
from executor.model.ids import now_ms
from executor.storage.executions import events, executions, segments

MOST_ATTEMPTS = 5  # in a row, without an answer in between
MOST = 100  # in one transaction
GONE = "the process that ran it was lost while the server waited for an answer"


def take_over(c: Connection) -> int:
    """Executions of processes that were declared dead are queued again, or fail; how many there were."""
    lost = segments.lock_lost(c, MOST)
    for execution in lost:
        give_back(c, execution, counts=True)
    return len(lost)


def release_all(c: Connection, owner: str) -> int:
    """What a process still has when it stops. No one is to blame."""
    left = segments.lock_owned(c, owner)
    for execution in left:
        give_back(c, execution, counts=False)
    return len(left)


def release(c: Connection, execution: Execution) -> bool:
    """One that this process can't continue, since it could not write its journal. False if it is no longer its own."""
    locked = segments.lock_run(c, execution)
    if locked is not None:
        give_back(c, locked, counts=True)
    return locked is not None


def release_orphan(c: Connection, owner: str, execution_id: str) -> None:
    locked = segments.lock_one(c, execution_id)
    if locked is not None and locked.owner == owner:
        give_back(c, locked, counts=False)


def give_back(c: Connection, locked: Execution, *, counts: bool) -> None:
    withdraw_in(c, locked.id, GONE)
    if counts and locked.attempts + 1 >= MOST_ATTEMPTS:
        _fail(c, locked)
        return
    queued = segments.put_back(c, locked, counts=counts)
    data = {"epoch": queued.epoch, "attempts": queued.attempts}
    events.append(c, locked.workspace_id, "execution.recovered", data, locked.id)


def _fail(c: Connection, locked: Execution) -> None:
    failure = failures.attempts_exhausted(MOST_ATTEMPTS)
    unknown = close_in(c, locked.workspace_id, locked.id, by=locked)
    failure = failures.with_unknown(failure, unknown)
    executions.finish(c, locked.id, "failed", now_ms(), locked.wall_ms, None, failure)
    events.append(c, locked.workspace_id, "execution.failed", {"failure": failure.to_dict()}, locked.id)
