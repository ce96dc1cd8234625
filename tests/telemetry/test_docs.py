"""The page about observability, and the example on it."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from executor.telemetry import metrics
from executor.telemetry.attributes import NAMES
from executor.telemetry.prometheus import name_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")


def test_the_page_lists_every_attribute_and_no_other() -> None:
    listed = set()
    for line in PAGE.partition("<!-- attributes -->")[2].partition("\n\n")[0].splitlines():
        names = re.findall(r"`([a-z_.]+)`", line)
        prefix = names.pop(0) if names and names[0].endswith(".") else ""
        listed |= {f"{prefix}{name}" for name in names}
    assert listed == NAMES


def test_the_page_lists_every_metric() -> None:
    table = PAGE.partition("| metric | labels |")[2].partition("\n\n")[0]
    assert {name_of(metric.family()) for metric in metrics.COUNTED} - set(re.findall(r"`(\w+)`", table)) == set()


def test_the_receiver_of_the_example_prints_spans() -> None:
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add()
    span.name, span.trace_id, span.span_id, span.end_time_unix_nano = "execution", b"t" * 16, b"s" * 8, 1_500_000
    command = [sys.executable, str(ROOT / "deploy" / "otel" / "print_spans.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            where = process.stdout.readline().strip().partition("ENDPOINT=")[2]
            sent = urllib.request.Request(f"{where}/v1/traces", request.SerializeToString(), method="POST")
            with urllib.request.urlopen(sent, timeout=120) as answer:
                assert answer.status == 200
            assert process.stdout.readline() == "74747474 -------- 73737373       1.5 ms  execution\n"
        finally:
            process.kill()
