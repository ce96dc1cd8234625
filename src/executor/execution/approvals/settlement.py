"""Settling an interaction, and the policy that "always" adds with it."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy.engine import Connection

from executor.execution.journal.journal import interaction_event
from executor.execution.policies.always import Always, add_policy
from executor.model.execution import Execution
from executor.model.identity.actor import Actor
from executor.model.ids import now_ms
from executor.model.interaction import Interaction, InteractionStatus, Scope
from executor.storage.catalog import policies
from executor.storage.executions import events, executions, interactions, permits


def settle(
    c: Connection,
    asked: Interaction,
    status: InteractionStatus,
    *,
    by: Actor | None = None,
    reason: str = "",
    result: str | None = None,
    scope: Scope = "once",
) -> tuple[Interaction, Execution | None]:
    """Settle, and if the execution is parked, claim it in the same transaction: no decision is lost."""
    who, origin = (by.id, by.origin) if by else ("", "")
    covers = scope if status == "approved" else ""
    settled = replace(asked, status=status, settled_at=now_ms(), settled_by=who, settled_from=origin, reason=reason)
    settled = replace(settled, result=result, scope=covers)
    interactions.settle(c, settled)
    if covers == "execution":
        permits.add(c, asked)
    what, data = interaction_event(status, asked)
    happened = [(what, {**data, "by": who, "reason": reason, "scope": covers})]
    resumed = executions.claim(c, asked.execution_id, only="paused")
    if resumed is not None:
        happened.append(("execution.resumed", {"epoch": resumed.epoch}))
    events.append_all(c, asked.workspace_id, asked.execution_id, happened, by=by)
    return settled, resumed


def save_policy(c: Connection, asked: Interaction, always: Always, *, by: Actor) -> Interaction:
    """The decision holds under the policies it makes, and under no others."""
    add_policy(c, asked.workspace_id, always, by=by)
    binding = asked.binding
    if binding.policy_revision == always.revision:
        binding = replace(binding, policy_revision=policies.revision(c, asked.workspace_id))
        interactions.rebind(c, asked.id, binding)
    return replace(asked, binding=binding)
