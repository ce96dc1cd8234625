"""Exporter over OTLP, if the setting `telemetry` says so. Nothing of OpenTelemetry is imported otherwise."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, cast

from executor.errors import InvalidRequest, way_to_install
from executor.settings import Settings
from executor.telemetry.otel import variables

if TYPE_CHECKING:
    from executor.telemetry.otel.exporter import Exporter
    from executor.telemetry.tracer import Inbound

INSTALL = f"set telemetry to off, or install it: {way_to_install('otel')}"


async def open_telemetry(settings: Settings) -> Exporter | None:
    """Raises InvalidRequest if it is wanted and can't be."""
    if settings.telemetry == "off":
        return None
    return await asyncio.to_thread(_open, settings)


def _open(settings: Settings) -> Exporter | None:
    found = variables.read(os.environ)
    if not (found.traces or found.metrics):
        return None
    try:
        from executor.telemetry.otel.exporter import Exporter
    except ImportError as error:
        raise InvalidRequest("telemetry is `otlp`, but the extra otel is not installed", hint=INSTALL) from error
    return Exporter(found, inbound=cast("Inbound", settings.trace_inbound), hosts=settings.trace_hosts)
