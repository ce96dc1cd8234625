"""Where a trace comes from, where it may go, and what a span may say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from executor.daemon.wiring.telemetry import open_telemetry
from executor.errors import InvalidRequest, NotFound, ToolError
from executor.settings import Settings
from executor.sources.mcp.sessions.request_trace import replace_trace
from executor.telemetry import tracer
from executor.telemetry.attributes import check_attributes
from executor.telemetry.error_codes import OWN, code_of, known_code
from executor.telemetry.export_state import display_endpoint
from executor.telemetry.otel.variables import Variables, read
from executor.telemetry.trace_context import TraceContext, parse
from tests.support.recorded_spans import recording_spans

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CALLER = TraceContext(TRACE, SPAN)


@pytest.mark.parametrize(
    "text",
    [
        None, 5, "", "x", f"00-{TRACE}-{SPAN}", f"00-{TRACE.upper()}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01", f"ff-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-01-more", f"00-{TRACE}-{SPAN}-01\n",
        f"00-{TRACE}-{SPAN}-0\u0661", f"01-{TRACE}-{SPAN}-01-{'x' * 1000}",
    ],
)  # fmt: skip
def test_what_is_not_a_traceparent_is_no_trace(text: Any) -> None:
    assert parse(text) is None


def test_a_traceparent_is_read_and_written() -> None:
    assert parse(f"00-{TRACE}-{SPAN}-01") == CALLER
    assert parse(f"00-{TRACE}-{SPAN}-00") == TraceContext(TRACE, SPAN, sampled=False)
    assert parse(f"01-{TRACE}-{SPAN}-03-later") == CALLER
    assert CALLER.traceparent == f"00-{TRACE}-{SPAN}-01"


@pytest.mark.parametrize("inbound", ["ignore", "link", "continue"])
def test_a_setting_decides_what_becomes_of_a_callers_trace(inbound: tracer.Inbound) -> None:
    with recording_spans(inbound) as recorder, tracer.span("outer", {}), tracer.span("inner", {}, caller=CALLER):
        pass
    outer, inner = recorder.spans
    expected = {
        "ignore": (outer.context, ()),
        "link": (outer.context, (CALLER,)),
        "continue": (CALLER, (outer.context,)),
    }
    assert (inner.parent, inner.links) == expected[inbound]


@pytest.mark.parametrize(
    ("hosts", "host", "goes"),
    [
        ((), "api.example", False),
        (("api.example",), "API.example", True),
        (("*.example",), "api.example", True),
        (("*.example",), "example", False),
        (("api.example",), "evil-api.example", False),
        (("stdio",), "stdio", True),
    ],
)
def test_our_trace_goes_only_to_hosts_that_are_listed(hosts: tuple[str, ...], host: str, goes: bool) -> None:
    with recording_spans(hosts=hosts) as recorder, tracer.span("call", {}):
        found = tracer.outbound_traceparent(host)
    assert found == (recorder.spans[0].context.traceparent if goes else None)


class Message:
    def __init__(self, params: Any) -> None:
        self.params = params


@pytest.mark.parametrize("params", [None, {}, {"name": "x"}, {"_meta": {"progressToken": 1}}])
def test_the_trace_of_the_program_around_us_is_not_passed_on_to_mcp_servers(params: Any) -> None:
    """The SDK adds it to every request, and whatever baggage there is, if the program that embeds us is traced."""
    meta = {**((params or {}).get("_meta", {})), "traceparent": CALLER.traceparent, "tracestate": "a=b", "baggage": "c"}
    message = Message({**(params or {}), "_meta": meta})
    replace_trace(message, "api.example")
    assert message.params == (params or {})
    with recording_spans(hosts=("api.example",)) as recorder, tracer.span("call", {}):
        replace_trace(message, "api.example")
    ours = recorder.spans[0].context.traceparent
    assert message.params["_meta"] == {**(params or {}).get("_meta", {}), "traceparent": ours}


def test_a_span_has_listed_attributes_only_and_they_are_bounded() -> None:
    with pytest.raises(KeyError):
        check_attributes({"gen_ai.tool.call.arguments": "x"})
    assert (
        check_attributes({"gen_ai.tool.name": "a\n\x1b" + "x" * 500})["gen_ai.tool.name"]
        == "a\\n\\x1b" + "x" * 192 + "…"
    )


def test_an_error_is_known_by_its_code_and_never_by_its_message() -> None:
    with recording_spans() as recorder:
        for error in (NotFound("secret"), ToolError("denied", "secret"), ToolError("se cret", "x"), OSError("secret")):
            with pytest.raises(type(error)), tracer.span("failing", {}):
                raise error
    assert [one.attributes["error.type"] for one in recorder.spans] == ["not_found", "denied", "other", "internal"]
    assert all(one.has_ended for one in recorder.spans)
    assert known_code("code that a sandbox made up") == "other"
    assert all(known_code(code) == code for code in OWN) and code_of(KeyboardInterrupt()) == "internal"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, Variables()),
        ({"OTEL_SDK_DISABLED": "true"}, Variables(traces=False, metrics=False)),
        ({"OTEL_TRACES_EXPORTER": "none"}, Variables(traces=False)),
        ({"OTEL_METRICS_EXPORTER": "none", "OTEL_METRIC_EXPORT_INTERVAL": "5000"}, Variables(True, False, 5.0)),
    ],
)
def test_the_standard_variables_decide_what_is_exported(environ: dict[str, str], expected: Variables) -> None:
    assert read(environ) == expected


@pytest.mark.parametrize(
    "environ",
    [
        {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
        {"OTEL_TRACES_EXPORTER": "zipkin"},
        {"OTEL_METRIC_EXPORT_INTERVAL": "soon"},
    ],
)
def test_what_can_not_be_done_is_refused_and_not_ignored(environ: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        read(environ)


async def test_a_daemon_that_is_to_export_and_can_not_does_not_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "executor.telemetry.otel.exporter", None)
    settings = Settings(data_dir=tmp_path, state_dir=tmp_path, config_file=tmp_path / "c", telemetry="otlp")
    with pytest.raises(InvalidRequest, match="extra otel is not installed"):
        await open_telemetry(settings)


def test_an_endpoint_is_shown_without_what_may_be_secret_in_it() -> None:
    assert display_endpoint("https://me:pass@host:4318/v1/traces?key=x") == "https://host:4318/v1/traces"


def test_nothing_of_opentelemetry_is_imported_unless_it_is_used() -> None:
    """By a daemon that serves agents. FastAPI and the MCP SDK import its API, which does nothing by itself."""
    code = (
        "import executor.daemon.wiring.executor, executor.daemon.doctor.telemetry, executor.surfaces.app, "
        "executor.daemon.logs, sys; "
        "print(*(name for name in sys.modules if name.startswith(('opentelemetry', 'requests', 'google.protobuf'))))"
    )
    environ = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=True)
    assert done.stdout.split() == []
