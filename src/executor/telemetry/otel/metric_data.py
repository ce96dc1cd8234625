"""Our metrics as the OpenTelemetry SDK's exporter takes them. The numbers are those of `/metrics`."""

from __future__ import annotations

import time
from collections.abc import Iterable

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from executor import __version__
from executor.telemetry.metric import Distribution, Family
from executor.telemetry.process import STARTED

CUMULATIVE = AggregationTemporality.CUMULATIVE
BEGAN = int(STARTED * 1e9)


def convert(families: Iterable[Family], resource: Resource) -> MetricsData:
    now = time.time_ns()
    found = [_metric(family, now) for family in families if family.values]
    scope = ScopeMetrics(InstrumentationScope("executor", __version__), found, "")
    return MetricsData([ResourceMetrics(resource, [scope], resource.schema_url)])


def _metric(family: Family, now: int) -> Metric:
    if family.kind == "histogram":
        points = [_distribution(family, labels, value, now) for labels, value in family.values.items()]
        return Metric(family.name, family.help, family.unit, Histogram(points, CUMULATIVE))
    numbers = [_number(family, labels, value, now) for labels, value in family.values.items()]
    data = Sum(numbers, CUMULATIVE, is_monotonic=True) if family.kind == "counter" else Gauge(numbers)
    return Metric(family.name, family.help, family.unit, data)


def _number(family: Family, labels: tuple[str, ...], value: float | Distribution, now: int) -> NumberDataPoint:
    assert not isinstance(value, Distribution)  # noqa: S101 - for the type checker
    return NumberDataPoint(_attributes(family, labels), BEGAN, now, value)


def _distribution(family: Family, labels: tuple[str, ...], value: float | Distribution, now: int) -> HistogramDataPoint:
    assert isinstance(value, Distribution)  # noqa: S101 - for the type checker
    return HistogramDataPoint(
        attributes=_attributes(family, labels),
        start_time_unix_nano=BEGAN,
        time_unix_nano=now,
        count=value.count,
        sum=value.total,
        bucket_counts=value.counts,
        explicit_bounds=family.bounds,
        min=None,  # type: ignore[arg-type]  # not known, and optional in the format
        max=None,  # type: ignore[arg-type]
    )


def _attributes(family: Family, labels: tuple[str, ...]) -> dict[str, str]:
    return {name: label for name, label in zip(family.labels, labels, strict=True) if label}
