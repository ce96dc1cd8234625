"""What a call has to say besides its result: shown among the log lines of the execution that made it."""

from __future__ import annotations

from contextvars import ContextVar

MAX_WARNINGS = 5
WARNINGS: ContextVar[list[str] | None] = ContextVar("executor_call_warnings", default=None)


def warn(text: str) -> None:
    """Nothing of a credential may be in it, nor words of the service's own. Without an execution nobody reads it."""
    found = WARNINGS.get()
    if found is not None and text not in found and len(found) < MAX_WARNINGS:
        found.append(text)
