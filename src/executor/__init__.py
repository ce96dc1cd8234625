"""Executor: the control plane between AI agents and everything they may touch.

    from executor import Executor

    async with Executor.embedded() as executor:
        outcome = await executor.run("return 1 + 1")

The names below are imported when they are first used: every start of the CLI and of a worker imports this package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor.daemon.wiring.executor import Executor
    from executor.errors import ExecutorError, ToolError
    from executor.settings import Settings
    from executor.sources.python import tool

__version__ = "0.1.0"
__all__ = ["Executor", "ExecutorError", "Settings", "ToolError", "__version__", "tool"]

_HOMES = {
    "Executor": "executor.daemon.wiring.executor",
    "ExecutorError": "executor.errors",
    "Settings": "executor.settings",
    "ToolError": "executor.errors",
    "tool": "executor.sources.python",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
