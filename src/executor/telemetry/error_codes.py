"""Which error codes may become a label or an attribute: those that are documented. Code in a sandbox can invent others,
and put anything into them."""

from __future__ import annotations

from functools import lru_cache

from executor.errors import ExecutorError, ToolError
from executor.telemetry.metric import OTHER

# Of calls and of executions; the others are those of the error classes.
OWN = frozenset(
    {
        "approval_expired", "call_limit", "cancelled", "code_error", "cpu_limit", "denied", "invalid_arguments",
        "log_limit", "memory_limit", "nondeterminism", "output_limit", "result_too_large", "sandbox_lost",
        "syntax_error", "too_many_approvals", "tool_changed", "type_error", "typecheck_unavailable",
        "unexpected_response", "unknown_outcome", "unknown_tool", "unserializable_result", "upstream_busy",
        "upstream_error", "upstream_timeout", "upstream_unreachable", "wall_limit",
    }
)  # fmt: skip


@lru_cache
def codes() -> frozenset[str]:
    found, classes = set(OWN), [ExecutorError]
    for one in classes:
        found.add(one.code)
        classes += one.__subclasses__()
    return frozenset(found)


def known_code(code: str) -> str:
    return code if code in codes() else OTHER


def code_of(error: BaseException) -> str:
    if isinstance(error, ToolError):
        return known_code(error.tool_code)
    return known_code(error.code) if isinstance(error, ExecutorError) else getattr(error, "trace_code", "internal")
