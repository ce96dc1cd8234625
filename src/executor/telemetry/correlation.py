"""The ids that a log line carries: of the request, the execution, the call and the trace that it is about."""

from __future__ import annotations

import itertools
import secrets
from contextvars import ContextVar

from executor.model.fairness import CURRENT
from executor.model.interaction import LISTENER
from executor.telemetry.tracer import CURRENT as CURRENT_SPAN
from executor.telemetry.tracer import current_context

# Of the request under way. The tasks that it starts, such as the run of an execution, inherit it.
REQUEST: ContextVar[str] = ContextVar("executor_request", default="")
_START = secrets.token_hex(4)
_NUMBERS = itertools.count(1)


def new_request_id() -> str:
    """Unique to this start of the daemon, and cheap: every request gets one."""
    return f"req_{_START}{next(_NUMBERS):06x}"


def leave_request() -> None:
    """For a task that outlives the request that started it: what it does later is no part of that."""
    REQUEST.set("")
    CURRENT_SPAN.set(None)


def current_ids() -> dict[str, str | int]:
    found: dict[str, str | int] = {}
    if request := REQUEST.get():
        found["request"] = request
    if execution := CURRENT.get().execution_id:
        found["execution"] = execution
    if (listener := LISTENER.get()) is not None:
        found |= {"execution": listener.execution_id, "call": listener.call_seq}
    if (context := current_context()) is not None:
        found |= {"trace": context.trace_id, "span": context.span_id}
    return found
