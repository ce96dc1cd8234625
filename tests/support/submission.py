"""Submit code without waiting for what comes of it."""

from __future__ import annotations

from typing import Any

from executor.execution.engine import Engine
from executor.execution.submissions import Submission
from executor.model.execution import Execution
from executor.model.identity.actor import Actor


async def submit(engine: Engine, actor: Actor, code: str, **options: Any) -> Execution:
    """It is durable when this returns."""
    submitted = await engine.begin(actor, Submission(code, **options))
    return (await submitted.outcome(0)).execution
