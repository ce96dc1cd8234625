"""Requests that are held open: waits for an outcome, and what must not keep a stopping daemon alive.

None of them outlives the credential that opened it, and no one can hold all of them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from executor.errors import DaemonStopping, TooManyWaits
from executor.surfaces.http.open_requests import CURRENT, OpenRequest
from executor.surfaces.http.wait_limits import STREAMS, WAITS, WaitLimits

if TYPE_CHECKING:
    from executor.daemon.wiring.executor import Executor
    from executor.execution.outcome import Outcome
    from executor.execution.submissions import Submission, Submitted
    from executor.model.identity.actor import Actor

T = TypeVar("T")
GLANCE_SECONDS = 1.0
ENDED = ("paused", "completed", "failed", "cancelled")


class LongWaits:
    """Live streams and long waits. `close` lets all of them go; from then on none is held."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()
        self.streams = WaitLimits(STREAMS)
        self.waits = WaitLimits(WAITS)
        self._waits: set[asyncio.Task[object]] = set()

    def close(self) -> None:
        self.closed.set()
        for task in self._waits:
            task.cancel()

    def check(self) -> None:
        """Before anything is begun that someone would wait for."""
        if self.closed.is_set():
            raise stopping()

    @contextmanager
    def stream(self, request: OpenRequest) -> Iterator[None]:
        with self.streams.take_place(request.actor), request.keep_open():
            yield

    async def hold(self, wait: Coroutine[Any, Any, T]) -> T:
        """The outcome of `wait`. Raises when the daemon stops before it is there, when its request may not continue,
        and when too many are held. Executions continue anyway."""
        request = CURRENT.get()
        try:
            self.check()
            if request is None:
                return await self._hold(wait, None)
            await request.confirm()
            with self.waits.take_place(request.actor):
                return await self._hold(wait, request)
        finally:
            wait.close()

    async def _hold(self, wait: Coroutine[Any, Any, T], request: OpenRequest | None) -> T:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("only a task can wait")
        self._waits.add(task)
        try:
            with request.keep_open(task) if request else nullcontext():
                return await wait
        except asyncio.CancelledError:
            refusal = stopping() if self.closed.is_set() else request.refusal if request else None
            if refusal is None:
                raise
            task.uncancel()
            raise refusal from None
        finally:
            self._waits.discard(task)


def stopping() -> DaemonStopping:
    hint = "executions continue when it starts again; `executor executions list` shows them"
    return DaemonStopping("the daemon is stopping", hint=hint)


async def run(
    executor: Executor, held: LongWaits, actor: Actor, submission: Submission, seconds: float
) -> tuple[Outcome, bool]:
    """Submit, then wait until it ends or pauses, the time is up, or the daemon stops. What was accepted is never
    answered with less than its id. Also whether an earlier request had submitted it already."""
    held.check()
    submitted = await executor.engine.begin(actor, submission)
    return await outcome_of(held, submitted, seconds), submitted.is_known


async def outcome_of(held: LongWaits, submitted: Submitted, seconds: float) -> Outcome:
    try:
        return await held.hold(submitted.outcome(seconds))
    except (DaemonStopping, TooManyWaits):
        return await submitted.outcome(0)


async def wait(
    executor: Executor, held: LongWaits, actor: Actor, execution_id: str, seconds: float, *, whole: bool = True
) -> Outcome:
    """Until it ends or pauses, or the time is up, or the daemon stops. Not `whole`: a large result stays away."""
    if seconds <= 0:
        return await executor.engine.wait(actor, execution_id, 0, whole=whole)
    try:
        return await held.hold(executor.engine.wait(actor, execution_id, seconds, whole=whole))
    except DaemonStopping:
        return await executor.engine.wait(actor, execution_id, 0, whole=whole)


async def resume(
    executor: Executor, held: LongWaits, actor: Actor, execution_id: str, seconds: float, *, whole: bool = True
) -> Outcome:
    """Also through a pause, but only until other interactions are open than now, so that they can be shown."""
    deadline = time.monotonic() + seconds
    outcome = await wait(executor, held, actor, execution_id, seconds, whole=whole)
    asked = _pending_ids(outcome)
    while asked and _pending_ids(outcome) == asked and (left := deadline - time.monotonic()) > 0:
        if held.closed.is_set():
            break
        glance = min(left, GLANCE_SECONDS)
        glanced = executor.engine.wait(actor, execution_id, glance, through_pause=True, whole=whole)
        try:
            outcome = await held.hold(glanced)
        except (DaemonStopping, TooManyWaits):
            break
        if outcome.execution.status not in ENDED:
            left = max(0.0, deadline - time.monotonic())
            outcome = await wait(executor, held, actor, execution_id, left, whole=whole)
    return outcome


def _pending_ids(outcome: Outcome) -> frozenset[str]:
    if outcome.execution.status != "paused":
        return frozenset()
    return frozenset(interaction.id for interaction in outcome.interactions)
