"""How work learns that no one waits for it. Without an event loop, which reading does not need."""

from __future__ import annotations

from collections.abc import Callable

Stopped = Callable[[], bool]


class Abandoned(Exception):
    """No one waits for this document now."""


def never() -> bool:
    return False
