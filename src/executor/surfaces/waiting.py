"""Waiting past a pause: until the questions that are open now are decided, or the time is up."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from executor.daemon.executor import Executor
    from executor.execution.outcome import Outcome
    from executor.model.tenancy import Actor

GLANCE_SECONDS = 1.0


async def resume(executor: Executor, actor: Actor, execution_id: str, seconds: float) -> Outcome:
    """Unlike a wait through every pause, this ends when a new question comes up, so that someone can be told of it."""
    deadline = time.monotonic() + seconds
    outcome = await executor.engine.wait(actor, execution_id, seconds)
    asked = _asked(outcome)
    while asked and _asked(outcome) == asked and (left := deadline - time.monotonic()) > 0:
        outcome = await executor.engine.wait(actor, execution_id, min(left, GLANCE_SECONDS), through_pause=True)
        if outcome.execution.status not in ("paused", "completed", "failed", "cancelled"):
            outcome = await executor.engine.wait(actor, execution_id, max(0.0, deadline - time.monotonic()))
    return outcome


def _asked(outcome: Outcome) -> frozenset[str]:
    if outcome.execution.status != "paused":
        return frozenset()
    return frozenset(interaction.id for interaction in outcome.interactions)
