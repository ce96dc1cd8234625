"""The exit codes, all of them. Scripts and agents rely on these numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from executor.errors import ExecutorError, StorageError

COMPLETED = 0
FAILED = 1
USAGE = 2
PAUSED = 3
DENIED = 4
UNREACHABLE = 5
INTERRUPTED = 130

MEANINGS = {
    COMPLETED: "the execution completed, or the command succeeded",
    FAILED: "the execution failed or was cancelled, or the command failed",
    USAGE: "usage error: an unknown command or option, a missing file, empty code, an unknown language",
    PAUSED: "the execution is paused, or the task of a session is waiting, and needs a decision by a person",
    DENIED: "the execution failed because a call was denied",
    UNREACHABLE: "the daemon is not running, could not be started or does not answer",
    INTERRUPTED: "interrupted by Ctrl-C; a submitted execution keeps running",
}
_USAGE_CODES = frozenset({"invalid_request", "empty_code", "code_too_large", "unknown_runtime", "usage"})


def of_execution(view: Mapping[str, Any]) -> int:
    """Of an execution as `/v1` shows it; one that is still running counts as paused: there is more to come."""
    status = view.get("status")
    if status == "completed":
        return COMPLETED
    if status in ("failed", "cancelled"):
        return DENIED if (view.get("error") or {}).get("code") == "denied" else FAILED
    return PAUSED


def code_of(error: ExecutorError) -> str:
    """An error that another process reported keeps the code it had there."""
    return str(getattr(error, "reported", error.code))


def of_error(error: ExecutorError) -> int:
    from executor.errors import DaemonUnreachable, PortTaken

    if isinstance(error, (DaemonUnreachable, PortTaken, StorageError)):
        return UNREACHABLE
    return USAGE if code_of(error) in _USAGE_CODES else FAILED
