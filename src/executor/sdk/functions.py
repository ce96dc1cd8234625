"""Functions of a program as a module, so that the kind `python` finds them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from executor.errors import InvalidRequest

PREFIX = "executor_functions_"


def publish(namespace: str, functions: Sequence[Callable[..., Any]]) -> str:
    """The location of a source that has exactly these functions."""
    if not namespace.isidentifier() or not functions:
        raise InvalidRequest("a namespace and at least one function are needed", hint='add_functions("shop", refund)')
    module = ModuleType(f"{PREFIX}{namespace}")
    for function in functions:
        setattr(module, function.__name__, function)
    module.__all__ = [function.__name__ for function in functions]  # type: ignore[attr-defined]  # of any module
    sys.modules[module.__name__] = module
    return f"python:{module.__name__}"
