"""Whether a request may still leave: asked right before its first byte does, by whatever carries it.

Where several processes share a database, a process that stood still may have lost its executions to another one, which
sends their calls itself. SQLite has one process, and checks nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from executor.errors import SourceUnreachable

DEPARTURE: ContextVar[Callable[[], bool] | None] = ContextVar("executor_departure", default=None)


def check_departure() -> None:
    """Raises SourceUnreachable if it must not leave now. Nothing was sent then."""
    may_leave = DEPARTURE.get()
    if may_leave is not None and not may_leave():
        raise SourceUnreachable(
            "the call was held back, since this process may no longer run its execution",
            hint="it is judged again",
            reason="held",
            sent=False,
        )
