"""One request to an MCP server as a span, and the trace that goes with it in `_meta`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from executor.sources.mcp.transports.endpoint import Endpoint
from executor.telemetry import tracer
from executor.telemetry.error_codes import code_of
from executor.telemetry.metric import OTHER
from executor.telemetry.metrics import MCP_CLIENT
from executor.telemetry.trace_context import STDIO

METHODS = frozenset({"tools/call", "tools/list", "initialize", "ping", "resources/read", "prompts/get"})
CARRIED = ("traceparent", "tracestate", "baggage")


@contextmanager
def trace_request(endpoint: Endpoint, method: str, params: dict[str, Any]) -> Iterator[None]:
    began, failed = time.perf_counter(), ""
    known = method if method in METHODS else OTHER
    try:
        if tracer.CURRENT.get() is None:
            yield
            return
        target = params.get("name") if method == "tools/call" else None
        with tracer.span(f"{known} {target}" if target else known, describe(endpoint, known, target), kind="client"):
            yield
    except Exception as error:
        failed = code_of(error)
        raise
    except BaseException:
        failed = "cancelled"
        raise
    finally:
        MCP_CLIENT.observe(time.perf_counter() - began, known, failed)


def describe(endpoint: Endpoint, method: str, target: str | None) -> dict[str, tracer.Value]:
    found: dict[str, tracer.Value] = {"mcp.method.name": method}
    if target:
        found |= {"gen_ai.tool.name": target, "gen_ai.operation.name": "execute_tool"}
    if endpoint.command:
        return {**found, "network.transport": "pipe"}
    return {**found, "network.transport": "tcp", "network.protocol.name": "http", "server.address": host_of(endpoint)}


def host_of(endpoint: Endpoint) -> str:
    """As the setting `trace_hosts` names it."""
    return STDIO if endpoint.command else (urlsplit(endpoint.url).hostname or "")


def replace_trace(message: Any, host: str) -> None:
    """Our own trace, or none, instead of whatever is there."""
    params = message.params
    meta = params.get("_meta") if isinstance(params, dict) else None
    traceparent = tracer.outbound_traceparent(host)
    if traceparent is None and (not isinstance(meta, dict) or not any(name in meta for name in CARRIED)):
        return
    kept = {name: value for name, value in (meta or {}).items() if name not in CARRIED}
    if traceparent is not None:
        kept["traceparent"] = traceparent
    rest = {name: value for name, value in (params or {}).items() if name != "_meta"}
    message.params = {**rest, "_meta": kept} if kept else rest
