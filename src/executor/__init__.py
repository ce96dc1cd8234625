"""Executor: the control plane between AI agents and everything they may touch.

    from executor import Executor

    with Executor.embedded() as executor:
        print(executor.run("return 1 + 1").result)

The names below are imported when they are first used: every start of the CLI and of a worker imports this package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor.errors import ExecutionFailed, ExecutionPending, ExecutorError, ToolError
    from executor.sdk.async_executor import AsyncExecutor
    from executor.sdk.execution import Answer, Approve, Decision, Deny, Execution, Interaction
    from executor.sdk.executor import Executor
    from executor.settings import Settings
    from executor.sources.python import tool

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "Approve",
    "AsyncExecutor",
    "Decision",
    "Deny",
    "Execution",
    "ExecutionFailed",
    "ExecutionPending",
    "Executor",
    "ExecutorError",
    "Interaction",
    "Settings",
    "ToolError",
    "__version__",
    "tool",
]

_HOMES = {
    "Answer": "executor.sdk.execution",
    "Approve": "executor.sdk.execution",
    "AsyncExecutor": "executor.sdk.async_executor",
    "Decision": "executor.sdk.execution",
    "Deny": "executor.sdk.execution",
    "Execution": "executor.sdk.execution",
    "ExecutionFailed": "executor.errors",
    "ExecutionPending": "executor.errors",
    "Executor": "executor.sdk.executor",
    "ExecutorError": "executor.errors",
    "Interaction": "executor.sdk.execution",
    "Settings": "executor.settings",
    "ToolError": "executor.errors",
    "tool": "executor.sources.python",
}


def _import_export(package: str, homes: dict[str, str], name: str) -> Any:
    """`homes` gives the module of each name, and `module:name` where it has another name there."""
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module, _, own_name = homes[name].partition(":")
    return getattr(import_module(module), own_name or name)


def __getattr__(name: str) -> Any:
    return _import_export(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
