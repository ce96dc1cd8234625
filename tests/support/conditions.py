"""Waiting on a condition, never on a guess."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

PAUSE = 0.01


def wait_for(condition: Callable[[], Any], what: str = "the condition", *, seconds: float = 120.0) -> Any:
    """The first true value of `condition`."""
    ends = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < ends, f"{what} did not come true in time"
        time.sleep(PAUSE)
    return value


async def until(condition: Callable[[], Any], what: str = "the condition", *, seconds: float = 120.0) -> Any:
    """The first true value of `condition`, which may have to be awaited."""
    async with asyncio.timeout(seconds):
        while True:
            value = condition()
            if inspect.isawaitable(value):
                value = await value
            if value:
                return value
            await asyncio.sleep(PAUSE)
