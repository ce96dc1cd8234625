"""Settling an interaction, and the policy that "always" adds with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.engine import Connection

from executor.errors import AlreadySettled
from executor.execution.journal.journal import interaction_event
from executor.execution.policies.always import Always, add_policy
from executor.model.execution import Execution
from executor.model.identity.actor import Actor
from executor.model.ids import now_ms
from executor.model.interaction import Interaction, InteractionStatus, Scope
from executor.storage.catalog import policies
from executor.storage.executions import events, executions, interactions, permits, segments
from executor.storage.identity import tenancy


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
    """Settle, and if the execution is parked, claim it in the same transaction: no decision is lost.

    Raises AlreadySettled, and has changed nothing, if someone else was first. One that is paused with an elicitation
    open has a run that is alive: it only continues.
    """
    executions.lock(c, [asked.execution_id])
    attended = interactions.has_elicitation(c, asked.execution_id)
    who, origin = (by.id, by.origin) if by else ("", "")
    covers = scope if status == "approved" else ""
    settled = replace(
        asked,
        status=status,
        settled_at=now_ms(),
        settled_by=who,
        settled_from=origin,
        reason=reason,
        result=result,
        scope=covers,
    )
    if not interactions.settle(c, settled):
        raise lost_to(c, interactions.get(c, asked.workspace_id, asked.id) or asked)
    if covers == "execution":
        permits.add(c, asked)
    what, data = interaction_event(status, asked)
    happened = [(what, {**data, "by": who, "reason": reason, "scope": covers})]
    parked = not attended and asked.execution_id
    resumed = segments.resume(c, asked.execution_id) if parked else None
    epoch = executions.unpause(c, asked.execution_id) if attended else resumed and resumed.epoch
    if epoch is not None:
        happened.append(("execution.resumed", {"epoch": epoch}))
    events.append_all(c, asked.workspace_id, asked.execution_id, happened, by=by)
    return settled, resumed


def settle_open(
    c: Connection,
    candidates: Sequence[Interaction],
    status: InteractionStatus,
    *,
    by: Actor | None = None,
    reason: str = "",
) -> list[tuple[Interaction, Execution | None]]:
    """Those of the candidates that are still pending. Others may have settled some since they were read."""
    executions.lock(c, {one.execution_id for one in candidates})
    current = (interactions.get(c, one.workspace_id, one.id) for one in candidates)
    return [settle(c, one, status, by=by, reason=reason) for one in current if one and one.status == "pending"]


def find_locked(c: Connection, workspace_id: str, interaction_id: str) -> Interaction | None:
    """As it is once its execution is locked: no one settles it, and its run does nothing, before the commit."""
    execution_id = interactions.execution_of(c, workspace_id, interaction_id)
    if execution_id:
        executions.lock(c, [execution_id])
    return interactions.get(c, workspace_id, interaction_id)


def lost_to(c: Connection, settled: Interaction) -> AlreadySettled:
    """Says who was first."""
    who = tenancy.actor(c, settled.workspace_id, settled.settled_by) if settled.settled_by else None
    return AlreadySettled(
        f"interaction {settled.id} was already {settled.status}" + (f" by {who.name}" if who else ""),
        hint="each interaction is decided once",
        interactionStatus=settled.status,
        settledBy=settled.settled_by,
        settledAt=settled.settled_at,
    )


def save_policy(c: Connection, asked: Interaction, always: Always, *, by: Actor) -> Interaction:
    """The decision holds under the policies it makes, and under no others."""
    add_policy(c, asked.workspace_id, always, by=by)
    binding = asked.binding
    if binding.policy_revision == always.revision:
        binding = replace(binding, policy_revision=policies.revision(c, asked.workspace_id))
        interactions.rebind(c, asked.id, binding)
    return replace(asked, binding=binding)
