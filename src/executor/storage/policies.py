"""Policies: an ordered list for each organization, workspace and toolkit. Every change raises the policy revisions."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.ids import new_id, now_ms
from executor.model.policy import Condition, Level, Policy
from executor.model.tenancy import Actor
from executor.storage import events
from executor.storage.rows import dump, load
from executor.storage.tables import policies, workspaces

KEPT = ("id", "level", "owner_id", "position", "created_by", "created_at")  # whatever else of a rule is changed


def listing(c: Connection, owner_id: str, level: Level = "workspace") -> list[Policy]:
    mine = (policies.c.level == level, policies.c.owner_id == owner_id)
    query = sa.select(policies).where(*mine).order_by(policies.c.position)
    return [_policy(row) for row in c.execute(query)]


def in_force(c: Connection, workspace_id: str) -> list[Policy]:
    """The organization's first, then the workspace's."""
    return [*listing(c, organization_of(c, workspace_id), "organization"), *listing(c, workspace_id)]


def get(c: Connection, workspace_id: str, policy_id: str) -> Policy | None:
    """One that holds in the workspace, whoever owns it."""
    return next((policy for policy in in_force(c, workspace_id) if policy.id == policy_id), None)


def add(c: Connection, workspace_id: str, draft: Policy, position: int | None = None, *, by: Actor) -> Policy:
    """Insert at `position` (0 is first; the end if None) and move the later ones down."""
    present = listing(c, draft.owner_id, draft.level)
    place = len(present) if position is None else max(0, min(position, len(present)))
    policy = replace(draft, id=new_id("pol"), position=place, created_by=by.id, created_at=now_ms())
    for later in present[place:]:
        _place(c, later.id, later.position + 1)
    c.execute(sa.insert(policies), _row(policy))
    _changed(c, workspace_id, "policy.added", policy, by)
    return policy


def change(c: Connection, workspace_id: str, policy: Policy, *, by: Actor) -> None:
    """Everything of it but its place and owner."""
    values = {name: value for name, value in _row(policy).items() if name not in KEPT}
    c.execute(sa.update(policies).where(policies.c.id == policy.id).values(**values))
    _changed(c, workspace_id, "policy.changed", policy, by)


def move(c: Connection, workspace_id: str, policy: Policy, position: int, *, by: Actor) -> Policy:
    others = [one for one in listing(c, policy.owner_id, policy.level) if one.id != policy.id]
    place = max(0, min(position, len(others)))
    others.insert(place, policy)
    for index, one in enumerate(others):
        if one.position != index:
            _place(c, one.id, index)
    moved = replace(policy, position=place)
    _changed(c, workspace_id, "policy.moved", moved, by)
    return moved


def remove(c: Connection, workspace_id: str, policy: Policy, *, by: Actor) -> None:
    c.execute(sa.delete(policies).where(policies.c.id == policy.id))
    for later in listing(c, policy.owner_id, policy.level)[policy.position :]:
        _place(c, later.id, later.position - 1)
    _changed(c, workspace_id, "policy.removed", policy, by)


def revision(c: Connection, workspace_id: str) -> int:
    query = sa.select(workspaces.c.policy_revision).where(workspaces.c.id == workspace_id)
    return int(c.execute(query).scalar_one())


def organization_of(c: Connection, workspace_id: str) -> str:
    return str(c.execute(sa.select(workspaces.c.organization_id).where(workspaces.c.id == workspace_id)).scalar_one())


def _place(c: Connection, policy_id: str, position: int) -> None:
    c.execute(sa.update(policies).where(policies.c.id == policy_id).values(position=position))


def _changed(c: Connection, workspace_id: str, type: str, policy: Policy, by: Actor) -> None:
    """A rule of the organization changes every workspace of it; each one's revision and events say so."""
    data = {name: value for name, value in asdict(policy).items() if value not in ("", ()) and name != "created_at"}
    for affected in _affected(c, workspace_id, policy):
        raised = sa.update(workspaces).where(workspaces.c.id == affected)
        c.execute(raised.values(policy_revision=workspaces.c.policy_revision + 1))
        events.append(c, affected, type, data, by=by)


def _affected(c: Connection, workspace_id: str, policy: Policy) -> list[str]:
    if policy.level != "organization":
        return [workspace_id]
    return list(c.execute(sa.select(workspaces.c.id).where(workspaces.c.organization_id == policy.owner_id)).scalars())


def _row(policy: Policy) -> dict[str, Any]:
    return {**asdict(policy), "conditions": dump([asdict(one) for one in policy.conditions])}


def _policy(row: Any) -> Policy:
    return Policy(
        row.id,
        row.level,
        row.owner_id,
        row.position,
        row.pattern,
        row.action,
        tuple(Condition(one["path"], one["test"], one["value"]) for one in load(row.conditions)),
        row.actor_id,
        row.source_id,
        row.effect,
        row.note,
        row.created_by,
        row.created_at,
    )
