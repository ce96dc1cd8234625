"""The standard variables that decide what is exported. The SDK reads the others: endpoint, headers, sampler, limits."""

from __future__ import annotations

from collections.abc import Mapping

from executor.dataclass import dataclass
from executor.errors import InvalidRequest

DEFAULT_INTERVAL_MS = 60_000
PROTOCOLS = ("OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL")


@dataclass(frozen=True, slots=True)
class Variables:
    traces: bool = True
    metrics: bool = True
    interval_seconds: float = DEFAULT_INTERVAL_MS / 1000


def read(environ: Mapping[str, str]) -> Variables:
    """Raises InvalidRequest for what would silently be something else."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Variables(traces=False, metrics=False)
    for name in PROTOCOLS:
        if environ.get(name, "http/protobuf").strip() not in ("", "http/protobuf"):
            raise InvalidRequest(
                f"{name} is {environ[name]!r}, but Executor sends OTLP as http/protobuf only",
                hint="unset it, and use the HTTP port of the receiver, usually 4318",
            )
    return Variables(
        traces=_is_sent(environ, "OTEL_TRACES_EXPORTER"),
        metrics=_is_sent(environ, "OTEL_METRICS_EXPORTER"),
        interval_seconds=_interval(environ) / 1000,
    )


def _is_sent(environ: Mapping[str, str], name: str) -> bool:
    chosen = environ.get(name, "").strip().lower() or "otlp"
    if chosen not in ("otlp", "none"):
        raise InvalidRequest(f"{name} is {chosen!r}, but Executor exports only `otlp`", hint="use otlp or none")
    return chosen == "otlp"


def _interval(environ: Mapping[str, str]) -> int:
    text = environ.get("OTEL_METRIC_EXPORT_INTERVAL", "").strip() or str(DEFAULT_INTERVAL_MS)
    if not (text.isascii() and text.isdigit() and 100 <= int(text) <= 86_400_000):
        raise InvalidRequest(
            f"OTEL_METRIC_EXPORT_INTERVAL is {text!r}, not a number of milliseconds from 100 on",
            hint="correct it, or unset it for one minute",
        )
    return int(text)
