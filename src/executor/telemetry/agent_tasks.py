"""The tasks of agent sessions as spans. What an agent does meanwhile, over MCP and with its model, is part of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from executor.model.sessions.session import Session, Task
from executor.telemetry import tracer
from executor.telemetry.trace_context import TraceContext

_open: dict[str, TraceContext] = {}  # by the actor that the agent acts as, and by session


@contextmanager
def trace_task(session: Session, task: Task) -> Iterator[tracer.Span]:
    """A task is a trace of its own, linked to the prompt: it may take hours, and runs after the request has ended."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": session.agent,
        "gen_ai.conversation.id": session.id,
        "executor.session.id": session.id,
        "executor.task.id": task.id,
        "executor.workspace.id": session.workspace_id,
    }
    with tracer.span(f"invoke_agent {session.agent}", attributes, is_root=True) as begun:
        if begun is not tracer.NO_SPAN:
            _open[session.agent_id] = _open[session.id] = begun.context
        try:
            yield begun
        finally:
            _open.pop(session.agent_id, None)
            _open.pop(session.id, None)


def open_task(actor_or_session_id: str) -> TraceContext | None:
    return _open.get(actor_or_session_id) if _open else None
