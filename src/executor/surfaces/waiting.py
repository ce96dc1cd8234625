"""Requests that are held open: waits for an outcome, and what must not keep a stopping daemon alive."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from executor.errors import Busy

if TYPE_CHECKING:
    from executor.daemon.executor import Executor
    from executor.execution.outcome import Outcome
    from executor.model.tenancy import Actor

T = TypeVar("T")
GLANCE_SECONDS = 1.0
ENDED = ("paused", "completed", "failed", "cancelled")


class Held:
    """Live streams and long waits. `close` lets all of them go; from then on none is held."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()
        self.count = 0
        self._waits: set[asyncio.Task[object]] = set()

    def close(self) -> None:
        self.closed.set()
        for task in self._waits:
            task.cancel()

    async def hold(self, wait: Coroutine[Any, Any, T]) -> T:
        """The outcome of `wait`, or Busy when the daemon stops before it is there; executions go on by themselves."""
        task = asyncio.current_task()
        if task is None or self.closed.is_set():
            wait.close()
            raise stopping()
        self._waits.add(task)
        try:
            return await wait
        except asyncio.CancelledError:
            if not self.closed.is_set():
                raise
            task.uncancel()
            raise stopping() from None
        finally:
            self._waits.discard(task)


def stopping() -> Busy:
    hint = "executions go on when it starts again; `executor executions list` shows them"
    return Busy("the daemon is stopping", hint=hint)


async def wait(
    executor: Executor, held: Held, actor: Actor, execution_id: str, seconds: float, *, whole: bool = True
) -> Outcome:
    """Until it ends or pauses, or the time is up, or the daemon stops. Not `whole`: a large result stays away."""
    try:
        return await held.hold(executor.engine.wait(actor, execution_id, seconds, whole=whole))
    except Busy:
        return await executor.engine.wait(actor, execution_id, 0, whole=whole)


async def resume(
    executor: Executor, held: Held, actor: Actor, execution_id: str, seconds: float, *, whole: bool = True
) -> Outcome:
    """Also through a pause, but only until other questions are open than now, so that someone can be told of them."""
    deadline = time.monotonic() + seconds
    outcome = await wait(executor, held, actor, execution_id, seconds, whole=whole)
    asked = _asked(outcome)
    while asked and _asked(outcome) == asked and (left := deadline - time.monotonic()) > 0:
        if held.closed.is_set():
            break
        glance = min(left, GLANCE_SECONDS)
        outcome = await executor.engine.wait(actor, execution_id, glance, through_pause=True, whole=whole)
        if outcome.execution.status not in ENDED:
            left = max(0.0, deadline - time.monotonic())
            outcome = await wait(executor, held, actor, execution_id, left, whole=whole)
    return outcome


def _asked(outcome: Outcome) -> frozenset[str]:
    if outcome.execution.status != "paused":
        return frozenset()
    return frozenset(interaction.id for interaction in outcome.interactions)
