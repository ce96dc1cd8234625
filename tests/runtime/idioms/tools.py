"""The tools that the idioms call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.runtime.program_driver import Failed

_ORDERS = [{"id": number, "total": number * 7} for number in range(1, 6)]


def _list(given: dict[str, Any]) -> dict[str, Any]:
    start, end = given["page"] * given["size"], (given["page"] + 1) * given["size"]
    return {"items": _ORDERS[start:end], "next": given["page"] + 1 if end < len(_ORDERS) else None}


def _fail(code: str, status: int, message: str, *, retryable: bool = False) -> Callable[[object], None]:
    def fail(_: object) -> None:
        raise Failed({"code": code, "message": message, "status": status, "retryable": retryable})

    return fail


def new_tools() -> dict[str, Any]:
    """`flaky.get` succeeds at the third try."""
    tries: Counter[str] = Counter()
    slow_down = _fail("rate_limited", 429, "slow down", retryable=True)

    def get_flaky(given: dict[str, Any]) -> dict[str, int]:
        tries[given["key"]] += 1
        if tries[given["key"]] < 3:
            slow_down(given)
        return {"tries": tries[given["key"]]}

    return {
        "a.b": lambda given: given,
        "bad.one": _fail("gone", 410, "it's gone"),
        "shop.list": _list,
        "shop.get": lambda given: {"id": given["id"], "name": f"n{given['id']}"},
        "shop.lost": _fail("not_found", 404, "gone"),
        "flaky.get": get_flaky,
        "echo.say": lambda given: given,
    }
