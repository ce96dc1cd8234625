"""Policies: an ordered list per workspace. Every change raises the workspace's policy revision."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.ids import new_id, now_ms
from executor.model.policy import Action, Policy
from executor.storage import events
from executor.storage.tables import policies, workspaces


def listing(c: Connection, workspace_id: str) -> list[Policy]:
    query = sa.select(policies).where(policies.c.workspace_id == workspace_id).order_by(policies.c.position)
    return [_policy(row) for row in c.execute(query)]


def add(c: Connection, workspace_id: str, pattern: str, action: Action, position: int | None = None) -> Policy:
    """Insert at `position` (0 is first; the end if None) and move the later ones down."""
    present = listing(c, workspace_id)
    place = len(present) if position is None else max(0, min(position, len(present)))
    for policy in present[place:]:
        _place(c, policy.id, policy.position + 1)
    policy = Policy(new_id("pol"), workspace_id, place, pattern, action, now_ms())
    c.execute(
        sa.insert(policies),
        {
            "id": policy.id,
            "workspace_id": workspace_id,
            "position": place,
            "pattern": pattern,
            "action": action,
            "created_at": policy.created_at,
        },
    )
    _changed(c, workspace_id, "policy.added", policy)
    return policy


def remove(c: Connection, workspace_id: str, policy_id: str) -> bool:
    present = listing(c, workspace_id)
    gone = next((policy for policy in present if policy.id == policy_id), None)
    if gone is None:
        return False
    c.execute(sa.delete(policies).where(policies.c.id == policy_id))
    for policy in present[gone.position + 1 :]:
        _place(c, policy.id, policy.position - 1)
    _changed(c, workspace_id, "policy.removed", gone)
    return True


def revision(c: Connection, workspace_id: str) -> int:
    query = sa.select(workspaces.c.policy_revision).where(workspaces.c.id == workspace_id)
    return int(c.execute(query).scalar_one())


def _place(c: Connection, policy_id: str, position: int) -> None:
    c.execute(sa.update(policies).where(policies.c.id == policy_id).values(position=position))


def _changed(c: Connection, workspace_id: str, type: str, policy: Policy) -> None:
    raised = sa.update(workspaces).where(workspaces.c.id == workspace_id)
    c.execute(raised.values(policy_revision=workspaces.c.policy_revision + 1))
    data = {"id": policy.id, "pattern": policy.pattern, "action": policy.action, "position": policy.position}
    events.append(c, workspace_id, type, data)


def _policy(row: Any) -> Policy:
    return Policy(row.id, row.workspace_id, row.position, row.pattern, row.action, row.created_at)
