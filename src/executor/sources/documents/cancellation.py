"""How work that nobody waits for any more gets to know it. Without an event loop, which reading does not need."""

from __future__ import annotations

from collections.abc import Callable

Stopped = Callable[[], bool]


class Abandoned(Exception):
    """Nobody waits for this document any more."""


def never() -> bool:
    return False
