"""The decorator for functions that want to say more than their signature does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from executor.model.tool import Effect

MARK = "__executor_tool__"
F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(*, effect: Effect = "write", idempotent: bool = False, name: str = "") -> Callable[[F], F]: ...
def tool(
    function: F | None = None, /, *, effect: Effect = "write", idempotent: bool = False, name: str = ""
) -> F | Callable[[F], F]:
    """`effect` decides whether it needs approval; `idempotent` that calling twice does no more than once."""

    def mark(function: F) -> F:
        setattr(function, MARK, {"effect": effect, "idempotent": idempotent, "name": name})
        return function

    return mark if function is None else mark(function)


def marks_of(function: Any) -> dict[str, Any]:
    return {"effect": "write", "idempotent": False, "name": "", **getattr(function, MARK, {})}
