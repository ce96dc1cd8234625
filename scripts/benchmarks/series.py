"""Samples of one measurement, and the figures drawn from them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Literal

Unit = Literal["ms", "s", "MB", "kB", "x", ""]


@dataclass
class Series:
    """Samples in `unit`; CPU is the total over all of them, in milliseconds, where it applies."""

    unit: Unit = "ms"
    samples: list[float] = field(default_factory=list)
    cpu_ms: float | None = None

    def extend(self, other: Series) -> None:
        self.unit = other.unit
        self.samples.extend(other.samples)
        if other.cpu_ms is not None:
            self.cpu_ms = (self.cpu_ms or 0) + other.cpu_ms

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def p99(self) -> float:
        ordered = sorted(self.samples)
        return ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]

    @property
    def cpu_per_operation(self) -> float | None:
        return None if self.cpu_ms is None else self.cpu_ms / len(self.samples)
