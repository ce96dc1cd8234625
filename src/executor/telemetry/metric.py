"""Counters, histograms and gauges: a dictionary each, so that counting costs about a microsecond.

Names and units are OpenTelemetry's; `prometheus` writes them its own way. The number of series of one metric is
bounded: what comes after `MAX_SERIES` label sets is counted together, as `other`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Literal

from executor.dataclass import dataclass

Kind = Literal["counter", "gauge", "histogram"]
MAX_SERIES = 200
OTHER = "other"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0)
HUMAN_SECONDS = (1.0, 10.0, 60.0, 300.0, 1800.0, 3600.0, 4 * 3600.0, 86400.0, 3 * 86400.0, 7 * 86400.0)
TOKENS = (1.0, 16.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0)


@dataclass(slots=True)
class Distribution:
    """`counts` are of each bucket alone; the last one has no upper bound."""

    counts: list[int]
    total: float = 0.0
    count: int = 0


@dataclass(frozen=True, slots=True)
class Family:
    """One metric as it is at one moment."""

    name: str
    unit: str
    kind: Kind
    help: str
    labels: tuple[str, ...]
    values: Mapping[tuple[str, ...], float | Distribution]
    bounds: tuple[float, ...] = ()


@dataclass(slots=True)
class Counter:
    name: str
    unit: str
    help: str
    labels: tuple[str, ...] = ()
    _values: dict[tuple[str, ...], float] = field(default_factory=dict)

    def add(self, *labels: str, amount: float = 1) -> None:
        values = self._values
        if labels not in values and len(values) >= MAX_SERIES:
            labels = (OTHER,) * len(self.labels)
        values[labels] = values.get(labels, 0) + amount

    def family(self) -> Family:
        return Family(self.name, self.unit, "counter", self.help, self.labels, dict(self._values))


@dataclass(slots=True)
class Histogram:
    name: str
    unit: str
    help: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = SECONDS
    _values: dict[tuple[str, ...], Distribution] = field(default_factory=dict)

    def observe(self, value: float, *labels: str) -> None:
        found = self._values.get(labels) or self._add(labels)
        found.counts[bisect_left(self.bounds, value)] += 1
        found.total += value
        found.count += 1

    def _add(self, labels: tuple[str, ...]) -> Distribution:
        if len(self._values) >= MAX_SERIES:
            labels = (OTHER,) * len(self.labels)
        return self._values.setdefault(labels, Distribution([0] * (len(self.bounds) + 1)))

    def family(self) -> Family:
        kept = {labels: Distribution(list(one.counts), one.total, one.count) for labels, one in self._values.items()}
        return Family(self.name, self.unit, "histogram", self.help, self.labels, kept, self.bounds)


def gauge(
    name: str, unit: str, help: str, value: float | Mapping[str, float], label: str = "", *, kind: Kind = "gauge"
) -> Family:
    """What is looked up when someone asks: one number, or one for each value of `label`."""
    values: dict[tuple[str, ...], float | Distribution] = {}
    if isinstance(value, Mapping):
        values |= {(one,): number for one, number in value.items()}
    else:
        values[()] = value
    return Family(name, unit, kind, help, (label,) if label else (), values)


def cumulate(distribution: Distribution) -> Iterator[int]:
    """How many are at most as large as each bound, the last of which is infinite."""
    reached = 0
    for count in distribution.counts:
        reached += count
        yield reached
