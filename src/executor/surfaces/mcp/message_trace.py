"""What is measured of an MCP message: its method, the tool it calls, its time, and the trace that it belongs to.

Methods, tools and versions are named only if they are known: a client can put anything into a message.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from executor.model.identity.actor import Actor
from executor.surfaces.mcp.handshake import HANDSHAKE_VERSIONS, META, MODERN_VERSION
from executor.surfaces.mcp.tools import SCHEMAS
from executor.telemetry import tracer
from executor.telemetry.error_codes import code_of
from executor.telemetry.metric import OTHER
from executor.telemetry.metrics import MCP_SERVER
from executor.telemetry.trace_context import parse

METHODS = frozenset(
    {
        "initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list", "resources/read",
        "resources/templates/list", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel",
        "notifications/initialized", "notifications/cancelled", "notifications/progress",
    }
)  # fmt: skip


@contextmanager
def trace_message(message: Any, actor: Actor) -> Iterator[None]:
    params = message.get("params") if isinstance(message, dict) else None
    params = params if isinstance(params, dict) else {}
    method, tool = names_of(message, params)
    began, failed = time.perf_counter(), ""
    try:
        if tracer.is_on():
            with _span(method, tool, params, actor):
                yield
        else:
            yield
    except Exception as error:
        failed = code_of(error)
        raise
    finally:
        MCP_SERVER.observe(time.perf_counter() - began, method, tool, failed)


def names_of(message: Any, params: Mapping[str, Any]) -> tuple[str, str]:
    method = message.get("method") if isinstance(message, dict) else None
    if not isinstance(method, str) or method not in METHODS:
        return OTHER, ""
    name = params.get("name") if method == "tools/call" else None
    return method, name if isinstance(name, str) and name in SCHEMAS else ""


@contextmanager
def _span(method: str, tool: str, params: Mapping[str, Any], actor: Actor) -> Iterator[None]:
    attributes: dict[str, tracer.Value] = {
        "mcp.method.name": method,
        "network.transport": "tcp",
        "network.protocol.name": "http",
    }
    if tool:
        attributes |= {"gen_ai.tool.name": tool, "gen_ai.operation.name": "execute_tool"}
    meta = params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    version = meta.get(f"{META}protocolVersion")
    if version in (MODERN_VERSION, *HANDSHAKE_VERSIONS):
        attributes["mcp.protocol.version"] = version
    caller = None if actor.is_stranger else parse(meta.get("traceparent"))
    with tracer.span(f"{method} {tool}".rstrip(), attributes, kind="server", caller=caller):
        yield
