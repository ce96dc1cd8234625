"""Spans as they are created in this process, without an exporter."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from executor.telemetry import tracer
from executor.telemetry.attributes import check_attributes
from executor.telemetry.trace_context import TraceContext


@dataclass
class RecordedSpan:
    name: str
    kind: str
    attributes: dict[str, Any]
    parent: TraceContext | None
    links: tuple[TraceContext, ...]
    context: TraceContext
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    has_ended: bool = False

    def rename(self, name: str) -> None:
        self.name = name

    def set(self, attributes: tracer.Attributes) -> None:
        self.attributes |= check_attributes(attributes)

    def add_event(self, name: str, attributes: tracer.Attributes) -> None:
        self.events.append((name, check_attributes(attributes)))

    def fail(self, code: str) -> None:
        self.attributes["error.type"] = code

    def end(self) -> None:
        self.has_ended = True


@dataclass
class Recorder:
    spans: list[RecordedSpan] = field(default_factory=list)

    def start(
        self,
        name: str,
        kind: tracer.Kind,
        attributes: tracer.Attributes,
        parent: TraceContext | None,
        links: Sequence[TraceContext],
    ) -> RecordedSpan:
        context = TraceContext(parent.trace_id if parent else secrets.token_hex(16), secrets.token_hex(8))
        span = RecordedSpan(name, kind, check_attributes(attributes), parent, tuple(links), context)
        self.spans.append(span)
        return span

    def find(self, name: str) -> RecordedSpan:
        return next(one for one in self.spans if one.name == name)


@contextmanager
def recording_spans(inbound: tracer.Inbound = "link", hosts: tuple[str, ...] = ()) -> Iterator[Recorder]:
    before = tracer.STATE.tracer, tracer.STATE.inbound, tracer.STATE.hosts
    recorder = Recorder()
    tracer.STATE.tracer, tracer.STATE.inbound, tracer.STATE.hosts = recorder, inbound, hosts
    try:
        yield recorder
    finally:
        tracer.STATE.tracer, tracer.STATE.inbound, tracer.STATE.hosts = before
