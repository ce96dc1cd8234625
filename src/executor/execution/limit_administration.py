"""Limits, weights and priorities: what is in force in a workspace, and who changes it.

Those of a workspace protect the others, so the operator sets them. Those of actors protect the actors of the same
workspace from each other, so its administrators do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import NotFound
from executor.execution.names import identify
from executor.execution.use_limits import CHANGED, LimitsInForce
from executor.model.identity.actor import Actor, Workspace
from executor.model.use_limits import Bounds, ChosenLimits, UseLimits
from executor.storage.catalog import policy_scope
from executor.storage.database import Database
from executor.storage.executions import events, usage
from executor.storage.identity import tenancy, use_limits, workspaces

NONE = ChosenLimits()


@dataclass(frozen=True, slots=True)
class ActorUse:
    """What was chosen, what is in force, and what runs and is queued now."""

    id: str
    name: str
    chosen: ChosenLimits
    limits: UseLimits
    running: int
    queued: int


@dataclass(frozen=True, slots=True)
class WorkspaceUse:
    """`actors` are those for whom something was chosen."""

    own: ActorUse
    actors: tuple[ActorUse, ...]


async def read(database: Database, limits: LimitsInForce, by: Actor) -> WorkspaceUse:
    """Of the workspace that one acts in."""
    return await database.read(lambda c: _read(c, by.workspace_id, limits.defaults))


async def change_workspace(
    database: Database, limits: LimitsInForce, by: Actor, workspace_id: str, changes: Mapping[str, Any]
) -> ActorUse:
    """Of any workspace of this installation. What is not among the changes stays; None is the default."""

    def write(c: Connection) -> ActorUse:
        workspaces.lock(c, workspace_id)
        if not workspaces.exists(c, workspace_id):
            raise NotFound(f"there is no workspace {workspace_id!r}", hint="see `executor workspaces list`")
        _change(c, by, workspace_id, "", changes)
        return _read(c, workspace_id, limits.defaults).own

    return await _write(database, limits, write)


async def change_actor(
    database: Database, limits: LimitsInForce, by: Actor, given: str, changes: Mapping[str, Any]
) -> ActorUse:
    """`given` is the name or the id of an actor of the same workspace."""

    def write(c: Connection) -> ActorUse:
        workspaces.lock(c, by.workspace_id)
        names = policy_scope.actor_names(c, by.workspace_id)
        is_known = given in names or given in names.values()
        actor_id = identify("actor", given, names) if is_known else given
        if tenancy.actor(c, by.workspace_id, actor_id) is None:
            available = ", ".join(sorted(names.values()))
            raise NotFound(f"there is no actor {given[:100]!r}", hint=f"available: {available}")
        _change(c, by, by.workspace_id, actor_id, changes)
        return _read_one(c, by.workspace_id, actor_id, limits.defaults.actor)

    return await _write(database, limits, write)


async def _write(database: Database, limits: LimitsInForce, write: Any) -> ActorUse:
    changed: ActorUse = await database.write(write)
    await limits.load()  # here at once; other processes hear of it
    return changed


def _change(c: Connection, by: Actor, workspace_id: str, actor_id: str, changes: Mapping[str, Any]) -> None:
    """The workspace is locked, so that two who change different limits both succeed."""
    before = use_limits.of_workspace(c, workspace_id).get(actor_id, NONE)
    after = replace(before, **changes)
    if after == before:
        return
    use_limits.save(c, workspace_id, actor_id, after)
    what = {"workspaceId": workspace_id} if not actor_id else {"actorId": actor_id}
    data = {**what, "limits": view_chosen(after), "before": view_chosen(before)}
    events.append(c, workspace_id, CHANGED, data, by=by)


def view_chosen(chosen: ChosenLimits) -> dict[str, Any]:
    """With the words of the API."""
    found = asdict(chosen)
    return {"perMinute" if name == "per_minute" else name: value for name, value in found.items()}


def _read(c: Connection, workspace_id: str, defaults: Bounds) -> WorkspaceUse:
    chosen = use_limits.of_workspace(c, workspace_id)
    names = policy_scope.actor_names(c, workspace_id)
    place: Workspace = workspaces.get(c, workspace_id)[0]
    limits = chosen.pop("", NONE)
    own = ActorUse(place.id, place.name, limits, limits.over(defaults.workspace), *usage.count_all(c, workspace_id, ""))
    actors = (_use(c, workspace_id, key, names.get(key, ""), one, defaults.actor) for key, one in chosen.items())
    return WorkspaceUse(own, tuple(sorted(actors, key=lambda one: (one.name, one.id))))


def _read_one(c: Connection, workspace_id: str, actor_id: str, default: UseLimits) -> ActorUse:
    chosen = use_limits.of_workspace(c, workspace_id).get(actor_id, NONE)
    name = policy_scope.actor_names(c, workspace_id).get(actor_id, "")
    return _use(c, workspace_id, actor_id, name, chosen, default)


def _use(
    c: Connection, workspace_id: str, actor_id: str, name: str, chosen: ChosenLimits, default: UseLimits
) -> ActorUse:
    return ActorUse(actor_id, name, chosen, chosen.over(default), *usage.count_all(c, workspace_id, actor_id))
