"""A receiver of OTLP on loopback, in threads: it decodes what it gets with OpenTelemetry's own definitions."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Span:
    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]
    links: tuple[tuple[str, str], ...]
    events: tuple[tuple[str, dict[str, Any]], ...]
    failed: bool


@dataclass
class OtlpReceiver:
    url: str
    status: int = 200
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)

    @property
    def everything(self) -> bytes:
        return b"".join(self.bodies)

    def find(self, name: str, **attributes: Any) -> list[Span]:
        """`attributes` with `_` for dots."""
        wanted = {key.replace("__", "."): value for key, value in attributes.items()}
        return [one for one in list(self.spans) if one.name == name and wanted.items() <= one.attributes.items()]

    def of_execution(self, execution_id: str) -> list[Span]:
        """Its segments, the first one first."""
        found = self.find("execution", executor__execution__id=execution_id)
        return sorted(found, key=lambda one: one.attributes["executor.execution.epoch"])

    def children(self, span: Span) -> list[Span]:
        return [one for one in list(self.spans) if one.parent_id == span.span_id and one.trace_id == span.trace_id]

    def take(self, path: str, body: bytes) -> None:
        self.bodies.append(body)
        if path.endswith("/traces"):
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                self.resources.append(read_attributes(resource.resource.attributes))
                self.spans += [read_span(span) for scope in resource.scope_spans for span in scope.spans]
        else:
            exported = ExportMetricsServiceRequest.FromString(body)
            for found in exported.resource_metrics:
                self.metrics |= {metric.name: metric for scope in found.scope_metrics for metric in scope.metrics}


def read_attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


def read_span(span: Any) -> Span:
    return Span(
        name=span.name,
        kind=span.kind,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        attributes=read_attributes(span.attributes),
        links=tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
        events=tuple((event.name, read_attributes(event.attributes)) for event in span.events),
        failed=span.status.code == 2,
    )


@contextmanager
def running_otlp_receiver() -> Iterator[OtlpReceiver]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
            if receiver.status == 200:
                receiver.take(self.path, body)
            self.send_response(receiver.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver = OtlpReceiver(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join(120)
