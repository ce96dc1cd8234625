"""Prints the spans that it is sent over OTLP, one a line: a receiver to try things out with.

Start it with a Python that has Executor's extra `otel`, then start Executor with the variables that it prints.
"""

from __future__ import annotations

import gzip
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        if self.path == "/v1/traces":
            show(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def show(request: ExportTraceServiceRequest) -> None:
    for resource in request.resource_spans:
        for span in (span for scope in resource.scope_spans for span in scope.spans):
            milliseconds = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6
            link = "".join(f"  linked to {one.trace_id.hex()[:8]}" for one in span.links)
            ids = span.trace_id.hex()[:8], span.parent_span_id.hex()[:8] or "-" * 8, span.span_id.hex()[:8]
            print(*ids, f"{milliseconds:9.1f} ms  {span.name}{link}")
    sys.stdout.flush()


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 4318
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    where = f"http://127.0.0.1:{server.server_address[1]}"
    print(f"EXECUTOR_TELEMETRY=otlp OTEL_EXPORTER_OTLP_ENDPOINT={where}", flush=True)
    server.serve_forever()
