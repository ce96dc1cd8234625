"""Whether a receiver accepts exports, found out with an empty one."""

from __future__ import annotations

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

from executor.dataclass import dataclass
from executor.telemetry.export_state import display_endpoint
from executor.telemetry.otel.exporter import new_session
from executor.telemetry.otel.watched_logger import last_reason


@dataclass(frozen=True, slots=True)
class Probed:
    """`reason` is empty if it accepts them."""

    endpoint: str
    reason: str


def probe(signal: str, seconds: float) -> Probed:
    last = last_reason(signal)
    exporter = (OTLPSpanExporter if signal == "traces" else OTLPMetricExporter)(session=new_session(), timeout=seconds)
    accepted = exporter._client.export(b"").success
    exporter._client.shutdown()
    return Probed(display_endpoint(exporter._endpoint), "" if accepted else last.take())
