"""Spans on the OpenTelemetry SDK. Its context is never entered: see `telemetry.tracer`."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from executor import __version__
from executor.telemetry.attributes import check_attributes, limit_text
from executor.telemetry.trace_context import TraceContext
from executor.telemetry.tracer import Attributes, Kind, Span

KINDS = {"internal": SpanKind.INTERNAL, "server": SpanKind.SERVER, "client": SpanKind.CLIENT}


class OtelSpan:
    __slots__ = ("_span", "context")

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        found = span.get_span_context()
        self.context = TraceContext(f"{found.trace_id:032x}", f"{found.span_id:016x}", found.trace_flags.sampled)

    def rename(self, name: str) -> None:
        self._span.update_name(limit_text(name))

    def set(self, attributes: Attributes) -> None:
        self._span.set_attributes(check_attributes(attributes))

    def add_event(self, name: str, attributes: Attributes) -> None:
        self._span.add_event(name, check_attributes(attributes))

    def fail(self, code: str) -> None:
        self._span.set_attribute("error.type", code)
        self._span.set_status(Status(StatusCode.ERROR))

    def end(self) -> None:
        self._span.end()


class OtelTracer:
    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("executor", __version__)

    def start(
        self,
        name: str,
        kind: Kind,
        attributes: Attributes,
        parent: TraceContext | None,
        links: Sequence[TraceContext],
    ) -> Span:
        context = Context()
        if parent is not None:
            context = trace.set_span_in_context(NonRecordingSpan(_span_context(parent)), context)
        return OtelSpan(
            self._tracer.start_span(
                limit_text(name),
                context,
                KINDS[kind],
                check_attributes(attributes),
                [Link(_span_context(one)) for one in dict.fromkeys(links)],
                record_exception=False,
                set_status_on_exception=False,
            )
        )


def _span_context(context: TraceContext) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED if context.sampled else TraceFlags.DEFAULT)
    return SpanContext(int(context.trace_id, 16), int(context.span_id, 16), is_remote=True, trace_flags=flags)
