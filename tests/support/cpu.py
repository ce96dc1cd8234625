"""CPU time for tests that compare costs: other threads and the garbage collector must not count."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any


def cpu_seconds(work: Callable[[], Any], clock: Callable[[], float] = time.thread_time, attempts: int = 3) -> float:
    """The least of a few attempts. For work in another thread, use `time.process_time` as the clock."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return min(_measure(work, clock) for _ in range(attempts))
    finally:
        if enabled:
            gc.enable()


def _measure(work: Callable[[], Any], clock: Callable[[], float]) -> float:
    began = clock()
    work()
    return clock() - began
