"""How work that no one waits for any more gets to know it. Without an event loop, which reading does not need."""

from __future__ import annotations

from collections.abc import Callable

Stopped = Callable[[], bool]


class Abandoned(Exception):
    """No one waits for this document any more."""


def never() -> bool:
    return False
