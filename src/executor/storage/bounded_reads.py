"""Reads that no index serves: they end after a while, whatever they have to pass."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy.engine import Connection

from executor.errors import Busy

LOOK_STEPS = 10_000  # of SQLite's machine, between two looks at the clock


@contextmanager
def stopping_after(connection: Connection, seconds: float) -> Iterator[None]:
    raw: Any = connection.connection.driver_connection
    end = time.monotonic() + seconds
    raw.set_progress_handler(lambda: time.monotonic() > end, LOOK_STEPS)
    try:
        yield
    finally:
        raw.set_progress_handler(None, 0)


def took_too_long(seconds: float) -> Busy:
    return Busy(
        f"the search found nothing within {seconds:g} seconds",
        hint="narrow the search: an earlier or later time, one actor, one tool",
    )
