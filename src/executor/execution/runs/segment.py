"""The trace of an execution: one span for each run of it, from taking it up until it is parked or has ended.

A span can't stay open for days and does not survive the process. So the journal keeps where each segment's span was,
and the next segment, in whatever process, begins a trace of its own that is linked to it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from executor.execution.journal.journal import Journal
from executor.model.event import TRACED
from executor.runtime.protocol import Answer, Program, Sandbox, Step
from executor.storage.database import Database
from executor.storage.executions import events
from executor.telemetry import trace_context, tracer
from executor.telemetry.error_codes import known_code
from executor.telemetry.trace_context import TraceContext
from executor.telemetry.tracer import Span

if TYPE_CHECKING:
    from executor.execution.runs.run import Run


@asynccontextmanager
async def trace_segment(database: Database, run: Run) -> AsyncIterator[None]:
    """A fresh one is part of the request that submitted it; any other one is linked to what happened before, and to the
    request that let it continue."""
    execution, is_fresh = run.execution, run.is_fresh
    links = () if is_fresh else await find_previous(database, execution.id)
    attributes: dict[str, tracer.Value] = {
        "executor.execution.id": execution.id,
        "executor.execution.runtime": execution.runtime,
        "executor.execution.language": execution.language,
        "executor.execution.epoch": execution.epoch,
        "executor.workspace.id": execution.workspace_id,
        "executor.actor.id": execution.actor_id,
    }
    with tracer.span("execution", attributes, links=links, is_root=not is_fresh) as segment:
        note_span(run.journal, segment)
        try:
            yield
        finally:
            describe_end(segment, run)


async def find_previous(database: Database, execution_id: str) -> tuple[TraceContext, ...]:
    found = await database.read(lambda c: events.latest_trace(c, execution_id))
    context = trace_context.parse(found.get("traceparent"))
    return (context,) if context is not None else ()


def note_span(journal: Journal, segment: Span) -> None:
    """Nothing is linked to what no one records."""
    if segment.context.sampled:
        journal.note(TRACED, {"traceId": segment.context.trace_id, "traceparent": segment.context.traceparent})


def note_submission(journal: Journal) -> None:
    """It is queued: the run that takes it up finds the request that submitted it."""
    if (request := tracer.CURRENT.get()) is not None:
        note_span(journal, request)


def describe_end(segment: Span, run: Run) -> None:
    execution = run.execution
    segment.set({"executor.execution.status": execution.status})
    if execution.result is not None:
        segment.set({"executor.result.bytes": len(execution.result)})
    if execution.failure is not None:
        segment.fail(known_code(execution.failure.code))


class TracedSandbox:
    """Each time that the code runs is a step: from what it is given until it waits again."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def start(self, program: Program) -> Step:
        with tracer.span("sandbox start", {}) as begun:
            return describe_step(begun, await self._sandbox.start(program))

    async def answer(self, answer: Answer) -> Step:
        with tracer.span("sandbox step", {"executor.call.seq": answer.seq}) as begun:
            return describe_step(begun, await self._sandbox.answer(answer))

    async def close(self) -> None:
        await self._sandbox.close()


def describe_step(begun: Span, step: Step) -> Step:
    begun.set({"executor.sandbox.calls": len(step.proposals), "executor.sandbox.cpu_ms": step.cpu_ms})
    if step.failure is not None:
        begun.fail(known_code(step.failure.code))
    return step
