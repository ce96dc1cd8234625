"""Exporter: set up from the standard `OTEL_*` variables, and closed with what was not sent yet."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import requests
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from executor import __version__
from executor.errors import ExecutorError
from executor.model.ids import new_id
from executor.telemetry import metrics, process, tracer
from executor.telemetry.export_state import ExportState, display_endpoint
from executor.telemetry.metric import Family
from executor.telemetry.otel.metric_data import convert
from executor.telemetry.otel.spans import OtelTracer
from executor.telemetry.otel.variables import Variables
from executor.telemetry.otel.watched_logger import last_reason

Gather = Callable[[], Awaitable[Sequence[Family]]]
FLUSH_SECONDS = 3.0
logger = logging.getLogger(__name__)


class WatchedSpanExporter(SpanExporter):
    def __init__(self, inner: OTLPSpanExporter, state: ExportState) -> None:
        self._inner, self._state = inner, state
        self._last = last_reason("traces")

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._inner.export(spans)
        failed = result is not SpanExportResult.SUCCESS
        self._state.note(failed=failed, reason=self._last.take() if failed else "")
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()  # type: ignore[no-untyped-call]  # as the SDK has it


class Exporter:
    """Of one process. `close` sends what is left, for a bounded time."""

    def __init__(self, variables: Variables, *, inbound: tracer.Inbound, hosts: tuple[str, ...]) -> None:
        self.states: list[ExportState] = []
        self.resource = resource_of(os.environ)
        self._provider: TracerProvider | None = None
        self._spans: OTLPSpanExporter | None = None
        self._metrics: OTLPMetricExporter | None = None
        self._task: asyncio.Task[None] | None = None
        self._seconds = variables.interval_seconds
        if variables.traces:
            self._trace(inbound, hosts)
        if variables.metrics:
            self._metrics = OTLPMetricExporter(session=new_session())
            self._metric_state = ExportState("metrics", display_endpoint(self._metrics._endpoint))
            self._last = last_reason("metrics")
            self.states.append(self._metric_state)

    def _trace(self, inbound: tracer.Inbound, hosts: tuple[str, ...]) -> None:
        self._spans = OTLPSpanExporter(session=new_session())
        state = ExportState("traces", display_endpoint(self._spans._endpoint))
        self.states.append(state)
        self._provider = TracerProvider(resource=self.resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(WatchedSpanExporter(self._spans, state)))
        tracer.STATE.tracer = OtelTracer(self._provider)
        tracer.STATE.inbound, tracer.STATE.hosts = inbound, hosts

    def begin(self, gather: Gather) -> None:
        """Metrics are gathered on the event loop and sent by a thread."""
        if self._metrics is not None:
            self._task = asyncio.create_task(self._export_forever(gather))

    async def _export_forever(self, gather: Gather) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            try:
                families = await gather()
                await run_detached(partial(self._send_metrics, families))
            except ExecutorError as error:  # such as a database that can't be read; the next one may be complete
                logger.warning("telemetry.incomplete", extra={"reason": error.message})

    def _send_metrics(self, families: Sequence[Family]) -> None:
        assert self._metrics is not None  # noqa: S101 - for the type checker
        result = self._metrics.export(convert(families, self.resource))
        failed = result is not MetricExportResult.SUCCESS
        self._metric_state.note(failed=failed, reason=self._last.take() if failed else "")

    async def close(self) -> None:
        """What is counted is sent a last time. A receiver that does not answer delays the end by seconds, not more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        tracer.STATE.tracer = None
        closing = [run_detached(job) for job in (self._close_traces, self._close_metrics)]
        _, late = await asyncio.wait(closing, timeout=FLUSH_SECONDS)
        if late:
            await asyncio.wait([run_detached(self._abort), *late], timeout=FLUSH_SECONDS)

    def _close_traces(self) -> None:
        if self._provider is not None:
            self._provider.shutdown()

    def _close_metrics(self) -> None:
        if self._metrics is not None:
            self._send_metrics([*metrics.families(), *process.families()])
            self._metrics.shutdown()

    def _abort(self) -> None:
        """Ends the waits between attempts."""
        for exporter in (self._spans, self._metrics):
            if exporter is not None:
                exporter._client.shutdown()


def run_detached(job: Callable[[], None]) -> asyncio.Future[None]:
    """In a thread that the process does not wait for when it ends."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def finish() -> None:
        if not done.done():
            done.set_result(None)

    def run() -> None:
        try:
            job()
        finally:
            with suppress(RuntimeError):  # the loop has ended before
                loop.call_soon_threadsafe(finish)

    threading.Thread(target=run, name="telemetry", daemon=True).start()
    return done


def new_session() -> requests.Session:
    """A redirect is not followed: the headers for the receiver may have a key in them."""
    session = requests.Session()
    session.max_redirects = 0
    return session


def resource_of(environ: Mapping[str, str]) -> Resource:
    """`OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` come first."""
    named = environ.get("OTEL_SERVICE_NAME") or "service.name=" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    own = {"service.version": __version__, "service.instance.id": new_id("instance")}
    return Resource.create(own if named else {"service.name": "executor", **own})
