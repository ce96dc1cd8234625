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
