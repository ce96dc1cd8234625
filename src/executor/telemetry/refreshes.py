"""What is measured of a source's refresh: how long it took and how it ended."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from executor.model.source import Source
from executor.telemetry import tracer
from executor.telemetry.metrics import REFRESHES


@contextmanager
def measure_refresh(source: Source) -> Iterator[tracer.Span]:
    began, outcome = time.perf_counter(), "error"
    attributes = {"executor.source.id": source.id, "executor.source.kind": source.kind}
    try:
        with tracer.span("source refresh", attributes) as begun:
            yield begun
        outcome = "ok"
    finally:
        REFRESHES.observe(time.perf_counter() - began, source.kind, outcome)
