"""Traces of a real daemon, as a receiver of OTLP gets them."""

from __future__ import annotations

import json
import secrets
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.sources.upstream import Upstream, as_json, serving
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon
from tests.support.otlp_receiver import OtlpReceiver, Span, running_otlp_receiver
from tests.support.sessions import Session
from tests.support.tool_results import about
from tests.telemetry.wary_service import describe

SERVER, CLIENT = 2, 3
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
HEADER = "00-11f7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"


@dataclass
class Tracing:
    daemon: Daemon
    receiver: OtlpReceiver
    upstream: Upstream
    elsewhere: Upstream
    heard: Path
    result: str

    def call(self, code: str, meta: dict[str, Any] | None = None, **headers: str) -> dict[str, Any]:
        """`execute` over MCP, as an agent."""
        params = {"name": "execute", "arguments": {"code": code}, **({"_meta": meta} if meta else {})}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        sent = {
            "Authorization": f"Bearer {self.daemon.token('agent')}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "MCP-Protocol-Version": "2025-11-25",
            **headers,
        }
        request = urllib.request.Request(f"{self.daemon.url}/mcp", body, sent)
        with urllib.request.urlopen(request, timeout=240) as answer:
            result = json.loads(answer.read())["result"]
        return self.daemon.get(f"/v1/executions/{about(result)['executionId']}")  # type: ignore[no-any-return]

    def segments(self, view: dict[str, Any], count: int = 1) -> list[Span]:
        def find() -> list[Span]:
            found = self.receiver.of_execution(view["executionId"])
            return found if len(found) == count else []

        return list(wait_for(find, f"{count} segments"))

    def below(self, span: Span, name: str) -> Span:
        return next(iter(wait_for(lambda: [one for one in self.receiver.children(span) if one.name == name], name)))

    def span(self, name: str, **attributes: Any) -> Span:
        return next(iter(wait_for(lambda: self.receiver.find(name, **attributes), name)))


@pytest.fixture(scope="module")
def tracing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tracing]:
    root = tmp_path_factory.mktemp("tracing")
    heard = root / "heard"
    with running_otlp_receiver() as receiver, serving() as upstream, serving() as elsewhere:
        elsewhere.routes["/landed"] = as_json({"answer": "landed"})
        result = secrets.token_hex(12)
        describe(upstream, elsewhere.url.replace("127.0.0.1", "localhost"), result)
        daemon = Daemon(
            root,
            EXECUTOR_TELEMETRY="otlp",
            EXECUTOR_TRACE_HOSTS="127.0.0.1, stdio",
            EXECUTOR_ALLOW_PRIVATE_HOSTS="true",
            OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url,
            OTEL_BSP_SCHEDULE_DELAY="100",
            OTEL_METRIC_EXPORT_INTERVAL="500",
        )
        daemon.start()
        try:
            daemon.post("/v1/sources", {"location": f"{upstream.url}/openapi.json", "namespace": "wary"})
            command = [sys.executable, str(Path(__file__).with_name("stdio_server.py")), str(heard)]
            daemon.post("/v1/sources", {"command": command, "namespace": "near", "consent": True})
            daemon.post("/v1/policies", {"pattern": "near.**", "action": "allow"})
            yield Tracing(daemon, receiver, upstream, elsewhere, heard, result)
        finally:
            daemon.stop()


def test_a_call_is_one_trace_from_the_request_to_the_service(tracing: Tracing) -> None:
    view = tracing.call("return await tools.wary.n.look({ text: 'x' })", {"traceparent": CALLER}, traceparent=HEADER)
    assert view["status"] == "completed", view
    segment = tracing.segments(view)[0]
    message = tracing.span("tools/call execute", gen_ai__tool__name="execute")
    request = tracing.span("POST /mcp")
    assert (segment.parent_id, message.parent_id) == (message.span_id, request.span_id)
    assert (request.kind, message.kind) == (SERVER, SERVER)
    assert message.attributes["mcp.method.name"] == "tools/call"
    assert segment.attributes["executor.execution.status"] == "completed"
    assert tracing.below(segment, "admission").attributes["executor.call.verdict"] == "send"
    assert tracing.below(segment, "sandbox start").attributes["executor.sandbox.calls"] == 1
    call = tracing.below(segment, "execute_tool wary.n.look")
    assert call.attributes["gen_ai.operation.name"] == "execute_tool"
    assert call.attributes["gen_ai.tool.call.id"] == f"{view['executionId']}:1"
    assert call.attributes["executor.source.kind"] == "openapi"
    sent = tracing.below(call, "GET")
    assert sent.kind == CLIENT
    assert (sent.attributes["http.response.status_code"], sent.attributes["server.address"]) == (200, "127.0.0.1")


def test_a_callers_trace_is_linked_and_does_not_become_ours(tracing: Tracing) -> None:
    tracing.call("return 1", {"traceparent": CALLER, "tracestate": "a=b"}, traceparent=HEADER)
    wait_for(lambda: [one for one in tracing.receiver.find("tools/call execute") if one.links], "a link")
    links = {link for one in tracing.receiver.find("tools/call execute") for link in one.links}
    assert links == {tuple(CALLER.split("-")[1:3])}
    assert tuple(HEADER.split("-")[1:3]) in {link for one in tracing.receiver.find("POST /mcp") for link in one.links}
    assert not {one.trace_id for one in tracing.receiver.spans} & {CALLER[3:35], HEADER[3:35]}


def test_only_hosts_that_are_listed_get_our_trace(tracing: Tracing) -> None:
    view = tracing.call("return await tools.wary.n.move({})", {"traceparent": CALLER, "baggage": "a=b"})
    assert view["status"] == "completed", view
    segment = tracing.segments(view)[0]
    call = tracing.below(segment, "execute_tool wary.n.move")
    wait_for(lambda: len(tracing.receiver.children(call)) == 2, "both requests")
    moved = next(one for one in tracing.upstream.requests if one.target == "/move")
    spans = {one.attributes["server.address"]: one for one in tracing.receiver.children(call)}
    assert moved.headers["traceparent"] == f"00-{call.trace_id}-{spans['127.0.0.1'].span_id}-01"
    landed = next(one for one in tracing.elsewhere.requests if one.target == "/landed")
    assert "traceparent" not in landed.headers
    assert not {"tracestate", "baggage"} & (moved.headers.keys() | landed.headers.keys())


def test_an_mcp_server_gets_our_trace_in_the_meta_of_a_call(tracing: Tracing) -> None:
    view = tracing.call("return await tools.near.hear({})", {"traceparent": CALLER, "tracestate": "a=b"})
    assert view["status"] == "completed", view
    call = tracing.below(tracing.segments(view)[0], "execute_tool near.hear")
    sent = tracing.below(call, "tools/call hear")
    assert (sent.kind, sent.attributes["network.transport"]) == (CLIENT, "pipe")
    messages = [json.loads(line) for line in tracing.heard.read_text().splitlines()]
    meta = next(one for one in messages if one["method"] == "tools/call")["params"]["_meta"]
    assert meta["traceparent"] == f"00-{sent.trace_id}-{sent.span_id}-01"
    assert not {"tracestate", "baggage"} & meta.keys()


def test_a_refresh_of_a_source_is_traced(tracing: Tracing) -> None:
    source = next(one for one in tracing.daemon.get("/v1/sources")["items"] if one["namespace"] == "wary")
    tracing.daemon.post(f"/v1/sources/{source['id']}/refresh")
    span = tracing.span("source refresh", executor__source__id=source["id"])
    assert span.attributes["executor.tools.count"] == 3
    assert tracing.below(span, "GET").attributes["http.response.status_code"] == 200


def test_a_task_of_an_agent_session_is_a_trace_linked_to_its_prompt(tracing: Tracing, tmp_path: Path) -> None:
    session = Session(tracing.daemon, tmp_path)
    params = {"name": "execute", "arguments": {"code": "return 7"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    task = session.prompt({"say": "a word of the agent"}, {"call_mcp": message})
    span = tracing.span("invoke_agent fake", executor__task__id=task["id"])
    assert (span.attributes["gen_ai.conversation.id"], span.parent_id, span.failed) == (session.id, "", False)
    prompt = tracing.span("POST /v1/sessions/{session_id}/prompt")
    assert (prompt.trace_id, prompt.span_id) in span.links
    request = tracing.below(span, "POST /mcp")
    called = tracing.below(request, "tools/call execute")
    assert tracing.below(called, "execution").attributes["executor.execution.status"] == "completed"
    assert b"a word of the agent" not in tracing.receiver.everything


def test_nothing_that_anyone_wrote_is_in_a_span(tracing: Tracing) -> None:
    """Code, arguments, results, messages, made-up names and what a client puts around them."""
    planted = {name: f"{name}{secrets.token_hex(10)}" for name in ("code", "argument", "path", "thrown", "error")}
    view = tracing.call(f"/* {planted['code']} */ return await tools.wary.n.look({{ text: '{planted['argument']}' }})")
    assert tracing.result in json.dumps(view)
    tracing.call(f"return await tools.wary.{planted['path']}.nothing({{}})")
    thrown = f"Object.assign(new Error('{planted['thrown']}'), {{ code: '{planted['error']}' }})"
    failed = tracing.call(f"throw {thrown}")
    assert failed["status"] == "failed"
    for name in ("meta", "tracestate", "baggage", "session", "agent", "cookie", "query"):
        planted[name] = f"{name}{secrets.token_hex(10)}"
    tracing.call(
        "return 2",
        {"traceparent": f"00-{planted['meta']}", "tracestate": planted["tracestate"], "baggage": planted["baggage"]},
        **{"Mcp-Session-Id": planted["session"], "User-Agent": planted["agent"], "Cookie": f"x={planted['cookie']}"},
    )
    tracing.daemon.get(f"/v1/executions?text={planted['query']}")
    assert tracing.segments(failed)[0].attributes["error.type"] == "code_error"
    wait_for(lambda: tracing.receiver.find("GET /v1/executions"))
    exported = tracing.receiver.everything
    assert {name for name, value in planted.items() if value.encode() in exported} == set()
    assert tracing.result.encode() not in exported
    assert tracing.daemon.token("agent").encode() not in exported


def test_an_execution_that_was_parked_and_survived_a_kill_continues_by_links(tracing: Tracing) -> None:
    view = tracing.call("return await tools.wary.n.add({ text: 'x' })")
    assert view["status"] == "paused"
    first = tracing.segments(view)[0]
    asked = view["interactions"][0]["id"]
    event = next(found for name, found in first.events if name == "executor.interaction.requested")
    assert (event["executor.interaction.id"], event["executor.call.seq"]) == (asked, 1)
    tracing.daemon.kill()
    del tracing.daemon.environ["EXECUTOR_TRACE_HOSTS"]
    tracing.daemon.start()
    tracing.daemon.post(f"/v1/interactions/{asked}/approve")
    first, second = tracing.segments(view, 2)
    assert second.trace_id != first.trace_id
    assert (first.trace_id, first.span_id) in second.links
    approving = tracing.span("POST /v1/interactions/{interaction_id}/approve")
    assert (approving.trace_id, approving.span_id) in second.links
    call = tracing.below(second, "execute_tool wary.n.add")
    settled = dict(call.events)["executor.interaction.settled"]
    assert settled["executor.interaction.id"] == asked and settled["executor.interaction.wait_seconds"] >= 0
    events = tracing.daemon.get(f"/v1/executions/{view['executionId']}/events?type=execution.traced")["items"]
    assert {one["data"]["traceId"] for one in events} == {first.trace_id, second.trace_id}
    added = next(one for one in tracing.upstream.requests if one.target == "/notes")
    assert "traceparent" not in added.headers, "the restarted daemon lists no host"


def test_metrics_are_exported_as_they_are_shown(tracing: Tracing) -> None:
    request = urllib.request.Request(
        f"{tracing.daemon.url}/metrics", headers={"Authorization": f"Bearer {tracing.daemon.token()}"}
    )
    with urllib.request.urlopen(request, timeout=240) as answer:
        shown = answer.read().decode()
    wait_for(lambda: "executor.call.duration" in tracing.receiver.metrics)
    calls = tracing.receiver.metrics["executor.call.duration"]
    assert calls.unit == "s" and calls.histogram.data_points[0].count >= 1
    assert "executor_call_duration_seconds_bucket" in shown
    resource = tracing.receiver.resources[0]
    assert resource["service.name"] == "executor" and resource["service.version"]


def test_the_doctor_says_where_exports_go_and_why_they_fail(tracing: Tracing) -> None:
    def checks() -> dict[str, Any]:
        return {one["name"]: one for one in tracing.daemon.get("/v1/doctor")["checks"]}

    assert checks()["telemetry exports: traces"]["status"] == "ok"
    assert checks()["telemetry receiver: metrics"]["status"] == "ok"
    tracing.receiver.status = 403
    try:
        found = wait_for(lambda: (one := checks())["telemetry exports: metrics"]["status"] == "warning" and one)
        assert "403" in found["telemetry exports: metrics"]["message"]
        assert found["telemetry receiver: traces"]["status"] == "warning"
    finally:
        tracing.receiver.status = 200
    wait_for(lambda: checks()["telemetry exports: metrics"]["status"] == "ok")
    log = (tracing.daemon.state_dir / "daemon.log").read_text()
    assert log.count('"telemetry.failing"') <= 4 and '"telemetry.recovered"' in log
