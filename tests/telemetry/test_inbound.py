"""Traces that requests bring, of agents and of strangers, over HTTP and in MCP messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from executor.telemetry.trace_context import TraceContext
from tests.support.conditions import wait_for
from tests.support.recorded_spans import RecordedSpan, Recorder, recording_spans
from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.api.identities import anonymous

META = TraceContext("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
HEADER = TraceContext("11f7651916cd43dd8448eb211c80319c", "c7ad6b7169203331")
HEADERS = {"Accept": "application/json", "MCP-Protocol-Version": "2025-11-25", "traceparent": HEADER.traceparent}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


def execute(daemon: Daemon, path: str, role: str, meta: dict[str, Any]) -> None:
    params = {"name": "execute", "arguments": {"code": "return 1"}, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = daemon.post(path, message, role=role, headers=HEADERS)
    assert answer.status == 200, answer.body


def find(recorder: Recorder, name: str) -> RecordedSpan:
    ended: RecordedSpan = wait_for(lambda: next((x for x in recorder.spans if x.name == name and x.has_ended), None))
    return ended


def test_a_trace_is_continued_if_the_operator_says_so(daemon: Daemon) -> None:
    with recording_spans("continue") as recorder:
        execute(daemon, "/mcp", "agent", {"traceparent": META.traceparent})
        request, message, segment = (find(recorder, name) for name in ("POST /mcp", "tools/call execute", "execution"))
    assert request.parent == HEADER
    assert (message.parent, message.links) == (META, (request.context,))
    assert (segment.parent, segment.context.trace_id) == (message.context, META.trace_id)


def test_without_a_trace_in_the_message_it_is_part_of_the_request(daemon: Daemon) -> None:
    with recording_spans("continue") as recorder:
        execute(daemon, "/mcp", "agent", {})
        request, message = find(recorder, "POST /mcp"), find(recorder, "tools/call execute")
    assert (message.parent, message.links) == (request.context, ())


def test_a_strangers_trace_is_ignored_whatever_is_set(daemon: Daemon) -> None:
    stranger = anonymous(daemon)
    with recording_spans("continue") as recorder:
        execute(daemon, "/mcp/anonymous", stranger.token, {"traceparent": META.traceparent})
        request, message = find(recorder, "POST /mcp/anonymous"), find(recorder, "tools/call execute")
    assert (request.parent, request.links) == (None, ())
    assert (message.parent, message.links) == (request.context, ())


def test_a_request_without_a_credential_is_not_traced(daemon: Daemon) -> None:
    with recording_spans("continue") as recorder:
        assert daemon.get("/v1/executions", role=None, headers=HEADERS).status == 401
        assert daemon.get("/healthz", role=None, headers=HEADERS).status == 200
    assert recorder.spans == []
