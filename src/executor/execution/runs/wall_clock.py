"""The time that an execution may take. Waiting for a sandbox or for a human does not count."""

from __future__ import annotations

import time

from executor.model.execution import Execution


class WallClock:
    """Runs from `start` on, and continues from what earlier runs of the execution have spent."""

    def __init__(self, execution: Execution) -> None:
        self._limit_ms = execution.limits.wall_ms
        self._before_ms = execution.wall_ms
        self._began = 0.0

    def start(self) -> None:
        self._began = self._began or time.monotonic()

    def exclude(self, seconds: float) -> None:
        """Time that does not count."""
        if self._began:
            self._began += seconds

    @property
    def spent_ms(self) -> int:
        spent = (time.monotonic() - self._began) * 1000 if self._began else 0
        return self._before_ms + int(spent)

    @property
    def seconds_left(self) -> float:
        return max(0.0, (self._limit_ms - self.spent_ms) / 1000)
