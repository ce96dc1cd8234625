"""Limits of a workspace and of its actors."""

from __future__ import annotations

from typing_extensions import TypedDict

from executor.execution.limit_administration import ActorUse, WorkspaceUse
from executor.model.use_limits import Bounds, ChosenLimits, Priority, UseLimits


class LimitsView(TypedDict):
    """0 is no limit."""

    running: int
    queued: int
    perMinute: int
    weight: int


class ActorLimitsView(LimitsView):
    """`priority` is the highest that its executions may have."""

    priority: Priority


class ChosenLimitsView(TypedDict):
    """`null` is the default."""

    running: int | None
    queued: int | None
    perMinute: int | None
    weight: int | None


class ChosenActorLimitsView(ChosenLimitsView):
    priority: Priority | None


class UseView(TypedDict):
    """How many there are now; counted up to 10,000."""

    running: int
    queued: int


class LimitedWorkspaceView(TypedDict):
    """What is in force, what of that was set for this workspace, and what it uses."""

    id: str
    name: str
    limits: LimitsView
    chosen: ChosenLimitsView
    use: UseView


class LimitedActorView(TypedDict):
    """What is in force, what of that was set for this actor, and what it uses."""

    id: str
    name: str
    limits: ActorLimitsView
    chosen: ChosenActorLimitsView
    use: UseView


class DefaultLimitsView(TypedDict):
    workspace: LimitsView
    actor: ActorLimitsView


class WorkspaceLimitsView(TypedDict):
    workspace: LimitedWorkspaceView
    actors: list[LimitedActorView]
    defaults: DefaultLimitsView


def workspace_limits_view(found: WorkspaceUse, defaults: Bounds) -> WorkspaceLimitsView:
    return {
        "workspace": limited_workspace_view(found.own),
        "actors": [limited_actor_view(one) for one in found.actors],
        "defaults": {"workspace": view_limits(defaults.workspace), "actor": view_actor_limits(defaults.actor)},
    }


def limited_workspace_view(use: ActorUse) -> LimitedWorkspaceView:
    return {
        "id": use.id,
        "name": use.name,
        "limits": view_limits(use.limits),
        "chosen": view_chosen(use.chosen),
        "use": {"running": use.running, "queued": use.queued},
    }


def limited_actor_view(use: ActorUse) -> LimitedActorView:
    return {
        "id": use.id,
        "name": use.name,
        "limits": view_actor_limits(use.limits),
        "chosen": {**view_chosen(use.chosen), "priority": use.chosen.priority},
        "use": {"running": use.running, "queued": use.queued},
    }


def view_limits(limits: UseLimits) -> LimitsView:
    return {
        "running": limits.running,
        "queued": limits.queued,
        "perMinute": limits.per_minute,
        "weight": limits.weight,
    }


def view_actor_limits(limits: UseLimits) -> ActorLimitsView:
    return {**view_limits(limits), "priority": limits.priority}


def view_chosen(chosen: ChosenLimits) -> ChosenLimitsView:
    return {
        "running": chosen.running,
        "queued": chosen.queued,
        "perMinute": chosen.per_minute,
        "weight": chosen.weight,
    }
