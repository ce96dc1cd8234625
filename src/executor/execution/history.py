"""What executions did. An actor sees its own, or with the permission `read` all of its workspace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import NotFound
from executor.execution.artifacts.contents import Contents
from executor.execution.names import identify
from executor.model.artifact import Artifact
from executor.model.event import Event
from executor.model.execution import Call, CallHead, Execution, ExecutionFilter
from executor.model.identity.actor import Actor
from executor.storage.catalog import policy_scope
from executor.storage.database import SEARCH_SECONDS, Database
from executor.storage.executions import artifacts, calls, events, execution_search, executions
from executor.storage.scan import Page

T = TypeVar("T")


class Owned(Protocol):
    """An execution or an agent session: it belongs to a workspace, and was started by an actor."""

    @property
    def workspace_id(self) -> str: ...

    @property
    def actor_id(self) -> str: ...


def may_see(actor: Actor, owned: Owned) -> bool:
    """Its own, or with the right to read everything of the workspace; never another workspace's. In a toolkit, only
    what was submitted there."""
    mine = owned.actor_id == actor.id or actor.may("read")
    is_near = actor.toolkit_id in ("", getattr(owned, "toolkit_id", ""))
    return owned.workspace_id == actor.workspace_id and mine and is_near


def look_up(c: Connection, by: Actor, execution_id: str) -> Execution:
    found = executions.get(c, by.workspace_id, execution_id)
    if found is None or not may_see(by, found):
        raise NotFound(f"there is no execution {execution_id}", hint="see `executor executions list`")
    return found


async def find(database: Database, by: Actor, execution_id: str) -> Execution:
    return await database.read(lambda c: look_up(c, by, execution_id))


async def _read(database: Database, by: Actor, execution_id: str, job: Callable[[Connection], T]) -> T:
    """Read something of an execution, if the actor may see that."""

    def job_if_seen(c: Connection) -> T:
        look_up(c, by, execution_id)
        return job(c)

    return await database.read(job_if_seen)


# Lists.
@dataclass(frozen=True, slots=True)
class Summary:
    """An execution in a list, with the name of its actor and the number of its calls."""

    execution: Execution
    actor: str
    calls: int


async def search(
    database: Database, by: Actor, wanted: ExecutionFilter, *, actor: str = "", limit: int = 50, before: str = ""
) -> Page[Summary]:
    """Newest first; `actor` is a name or an id. Without the permission `read`, an actor finds only its own."""

    def job(c: Connection) -> Page[Summary]:
        actor_id = _actor_id(c, by, actor)
        if actor_id is None:
            return Page()
        narrowed = replace(wanted, actor_id=actor_id, toolkit_id=by.toolkit_id)
        found = execution_search.page(c, by.workspace_id, narrowed, limit=limit, before=before)
        counts = execution_search.call_counts(c, by.workspace_id, [one.id for one in found])
        names = policy_scope.actor_names(c, by.workspace_id, {one.actor_id for one in found})
        items = [Summary(one, names.get(one.actor_id, ""), counts.get(one.id, 0)) for one in found]
        return Page(items, found.next, partial=found.partial)

    unindexed = wanted.text or wanted.tool
    return await (database.search(job, SEARCH_SECONDS) if unindexed else database.read(job))


def _actor_id(c: Connection, by: Actor, given: str) -> str | None:
    """Empty for everyone, None where nothing can be found."""
    if by.may("read"):
        return identify("actor", given, policy_scope.actor_names(c, by.workspace_id)) if given else ""
    return by.id if given in ("", by.id, by.name) else None


async def list_recent(database: Database, by: Actor, since: int, limit: int) -> list[Execution]:
    """The actor's own: first those that have not ended, then those that started after `since` and have."""
    unfinished = ExecutionFilter(by.id, ("queued", "running", "paused"), toolkit_id=by.toolkit_id)
    recent = ExecutionFilter(by.id, since=since, toolkit_id=by.toolkit_id)

    def job(c: Connection) -> list[Execution]:
        live = execution_search.page(c, by.workspace_id, unfinished, limit=limit)
        newest = execution_search.page(c, by.workspace_id, recent, limit=limit)
        return [*live, *(one for one in newest if one.is_final)]

    return await database.read(job)


async def count_by_status(database: Database, by: Actor) -> dict[str, int]:
    return await database.read(lambda c: executions.counts(c, by.workspace_id))


# One execution.
async def find_submitter(database: Database, execution: Execution) -> str:
    """The name of its actor; empty if that is gone."""
    mine = {execution.actor_id}
    names = await database.read(lambda c: policy_scope.actor_names(c, execution.workspace_id, mine))
    return names.get(execution.actor_id, "")


async def read_calls(
    contents: Contents, by: Actor, execution_id: str, *, whole: bool, seq: int | None = None
) -> list[tuple[Call, Artifact | None]]:
    """All of its calls, or the one with the number `seq`, each with the artifact that holds a large result.

    Unless `whole`, such a result is left there.
    """

    def job(c: Connection) -> list[tuple[Call, Artifact | None]]:
        if seq is None:
            found = calls.of_execution(c, by.workspace_id, execution_id)
        else:
            one = calls.one(c, by.workspace_id, execution_id, seq)
            found = [one] if one else []
        large = any(call.artifact_id for call in found)
        kept = artifacts.of_execution(c, by.workspace_id, execution_id) if large else {}
        shown = artifacts.filled_calls(c, found) if whole else found
        return [(call, kept.get(call.artifact_id)) for call in shown]

    shown = await _read(contents.database, by, execution_id, job)
    return [(await contents.fill(call), artifact) for call, artifact in shown] if whole else shown


async def read_call_heads(database: Database, by: Actor, execution_id: str) -> list[CallHead]:
    return await _read(database, by, execution_id, lambda c: calls.heads(c, by.workspace_id, execution_id))


async def read_logs(database: Database, by: Actor, execution_id: str) -> list[Event]:
    return await _read(database, by, execution_id, lambda c: events.logs(c, by.workspace_id, execution_id))


async def has_ended(database: Database, by: Actor, execution_id: str) -> bool:
    found = await database.read(lambda c: executions.get(c, by.workspace_id, execution_id))
    return found is None or found.is_final


# Events.
async def read_events(
    database: Database, by: Actor, execution_id: str | None, *, types: Sequence[str] = (), after: int, limit: int
) -> list[Event]:
    """Of one execution. None is for everything in the workspace, and the caller checks the permission `read`."""
    job = partial(
        events.after, workspace_id=by.workspace_id, execution_id=execution_id, types=types, after=after, limit=limit
    )
    found = await (database.read(job) if execution_id is None else _read(database, by, execution_id, job))
    await database.flush()
    return found


async def newest_event(database: Database, by: Actor) -> int:
    found = await database.read(lambda c: events.newest(c, by.workspace_id))
    await database.flush()
    return found
