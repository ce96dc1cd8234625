"""Whether traces and metrics can be exported, and how that went: configured, installed, reachable, last failure."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from executor.daemon.doctor.check import Check
from executor.daemon.wiring.telemetry import INSTALL
from executor.errors import InvalidRequest
from executor.settings import Settings
from executor.telemetry.otel import variables

if TYPE_CHECKING:
    from executor.daemon.wiring.executor import Executor
    from executor.telemetry.export_state import ExportState

PROBE_SECONDS = 3.0
HINT = "check OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS, and that the receiver is running"


def check_telemetry(settings: Settings, environ: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """From outside. The daemon may have been started with other variables; what it says of itself comes beside it."""
    if settings.telemetry == "off":
        yield Check("telemetry", "ok", "off in the settings of this shell; a running daemon lists its own exports")
        return
    try:
        chosen = variables.read(environ)
    except InvalidRequest as error:
        yield Check("telemetry", "failure", error.message, error.hint)
        return
    if not (chosen.traces or chosen.metrics):
        yield Check("telemetry", "ok", "the OTEL_* variables switch every export off")
    elif not is_installed():
        yield Check("telemetry", "failure", "telemetry is `otlp`, but the extra otel is not installed", INSTALL)
    else:
        names = [name for name, is_sent in (("traces", chosen.traces), ("metrics", chosen.metrics)) if is_sent]
        yield Check("telemetry", "ok", f"{' and '.join(names)} are exported over OTLP")
        yield from check_receivers(names)


def is_installed() -> bool:
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


def check_receivers(signals: list[str]) -> Iterator[Check]:
    """With an empty export, which every receiver accepts."""
    from executor.telemetry.otel.probe import probe

    for signal in signals:
        found = probe(signal, PROBE_SECONDS)
        name = f"telemetry receiver: {signal}"
        if found.reason:
            yield Check(name, "warning", f"{found.endpoint}: {found.reason}", HINT)
        else:
            yield Check(name, "ok", f"{found.endpoint} accepts {signal}")


def check_exports(executor: Executor) -> Iterator[Check]:
    """From inside the daemon."""
    for state in executor.exporter.states if executor.exporter is not None else ():
        yield _export_check(state)


def _export_check(state: ExportState) -> Check:
    name = f"telemetry exports: {state.signal}"
    failed = f"{_ago(state.failed_at)} ago: {state.reason}" if state.failed_at else ""
    if state.is_failing:
        return Check(name, "warning", f"{state.endpoint}: the last export failed {failed}", HINT)
    sent = f"last sent {_ago(state.exported_at)} ago" if state.exported_at else "nothing was sent yet"
    before = f"; {state.failures} exports failed before, the last one {failed}" if failed else ""
    return Check(name, "ok", f"{state.endpoint}: {sent}{before}")


def _ago(at: float) -> str:
    return f"{max(0, int(time.time() - at))} s"
