"""What depends on a source, and what ends when its calls go elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from typing_extensions import TypedDict

from executor.sources.lifecycle.persistence import Refreshed
from executor.surfaces.views.base import time
from executor.surfaces.views.catalog.sources import RefreshedView, refreshed_view

if TYPE_CHECKING:
    from executor.execution.approvals.invalidation import Invalidated
    from executor.execution.dependents import Dependents, Waiting
    from executor.model.credentials import Connection
    from executor.model.policy import Policy
    from executor.model.source import Source
    from executor.sources.lifecycle.edit_application import Edited


class DependentConnection(TypedDict):
    id: str
    name: str
    scheme: str
    status: str
    scope: Literal["workspace", "actor"]


def connection_view(connection: Connection) -> DependentConnection:
    return {
        "id": connection.id,
        "name": connection.name,
        "scheme": connection.scheme,
        "status": connection.status,
        "scope": "actor" if connection.actor_id else "workspace",
    }


class DependentPolicy(TypedDict):
    id: str
    level: str
    pattern: str
    action: str


def dependent_policy_view(policy: Policy) -> DependentPolicy:
    return {"id": policy.id, "level": policy.level, "pattern": policy.pattern, "action": policy.action}


class WaitingCall(TypedDict):
    executionId: str
    interactionId: str
    tool: str
    since: str


def waiting_view(waiting: Waiting) -> WaitingCall:
    return {
        "executionId": waiting.execution_id,
        "interactionId": waiting.interaction_id,
        "tool": waiting.path,
        "since": time(waiting.since),
    }


class RecentCalls(TypedDict):
    """Of the last `executions` of the workspace."""

    executions: int
    calls: int
    lastAt: str | None


class DependentsView(TypedDict):
    tools: int
    connections: list[DependentConnection]
    policies: list[DependentPolicy]
    waiting: list[WaitingCall]
    recent: RecentCalls


def dependents_view(source: Source, found: Dependents) -> DependentsView:
    return {
        "tools": source.tool_count,
        "connections": [connection_view(one) for one in found.connections],
        "policies": [dependent_policy_view(one) for one in found.policies],
        "waiting": [waiting_view(one) for one in found.waiting],
        "recent": {"executions": found.executions, "calls": found.calls, "lastAt": time(found.last_call)},
    }


class InvalidatedView(TypedDict):
    """What ends because calls go to `goesTo` now, or are sent in another way: pending approvals, permits of executions,
    credentials that are pinned elsewhere, policies that were created for the source as it was, and values of headers.
    `lines` say the same in words."""

    goesFrom: str
    goesTo: str
    approvals: list[WaitingCall]
    permits: int
    connections: list[DependentConnection]
    policies: list[DependentPolicy]
    headers: list[str]
    lines: list[str]


class EditedView(RefreshedView):
    """`invalidates` is null if calls go where they went. `preview` if nothing has changed yet."""

    invalidates: InvalidatedView | None
    preview: bool


def edited_view(edited: Edited, invalidated: Invalidated | None, *, preview: bool) -> EditedView:
    return {
        **refreshed_view(Refreshed(edited.source, edited.differences)),
        "unchanged": not edited.differences,
        "invalidates": invalidated_view(invalidated) if invalidated is not None else None,
        "preview": preview,
    }


def invalidated_view(found: Invalidated) -> InvalidatedView:
    return {
        "goesFrom": found.goes_from,
        "goesTo": found.goes_to,
        "approvals": [waiting_view(one) for one in found.approvals],
        "permits": found.permits,
        "connections": [connection_view(one) for one in found.connections],
        "policies": [dependent_policy_view(one) for one in found.policies],
        "headers": list(found.headers),
        "lines": found.to_lines(),
    }
