"""What is measured of a request, whichever surface answers it: its time and status, its id in the log, and its span."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp, Receive, Scope, Send

from executor.model.identity.actor import Actor
from executor.surfaces.http.guard import STATUS
from executor.telemetry import tracer
from executor.telemetry.agent_tasks import open_task
from executor.telemetry.correlation import REQUEST, new_request_id
from executor.telemetry.metrics import REQUESTS
from executor.telemetry.trace_context import TraceContext, parse

METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
SURFACES = {"mcp": "mcp", "v1": "api", "metrics": "metrics", "healthz": "health", "internal": "sandbox"}


async def observe(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        await app(scope, receive, send)
        return
    began = time.perf_counter()
    REQUEST.set(new_request_id())
    try:
        await app(scope, receive, send)
    finally:
        surface = SURFACES.get(scope["path"].split("/", 2)[1], "web")
        status = scope.get(STATUS, 0)
        REQUESTS.observe(time.perf_counter() - began, surface, f"{status // 100}xx" if status else "none")


@contextmanager
def trace_request(scope: Scope, actor: Actor) -> Iterator[None]:
    """Of one whose credential is good. A stranger's trace is none of ours; what a session's agent does is part of its
    task."""
    if not tracer.is_on():
        yield
        return
    method = name_method(scope)
    attributes = {
        "http.request.method": method,
        "executor.request.id": REQUEST.get(),
        "executor.actor.id": actor.id,
        "executor.workspace.id": actor.workspace_id,
    }
    task = open_task(actor.id)
    caller = None if task is not None or actor.is_stranger else caller_of(scope)
    name = f"{method} {route_of(scope)}".rstrip()
    with tracer.span(name, attributes, kind="server", caller=caller, parent=task) as begun:
        try:
            yield
        finally:
            describe_end(begun, scope)


def caller_of(scope: Scope) -> TraceContext | None:
    found = [value for name, value in scope["headers"] if name == b"traceparent"]
    return parse(found[0].decode("latin-1")) if len(found) == 1 else None


def name_method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in METHODS else "_OTHER"


def route_of(scope: Scope) -> str:
    """Those that are known before the API routes it; an address itself has ids in it, or whatever a client made up."""
    return scope["path"] if scope["path"] in ("/mcp", "/mcp/anonymous", "/metrics") else ""


def describe_end(begun: tracer.Span, scope: Scope) -> None:
    status = scope.get(STATUS, 0)
    if status:
        begun.set({"http.response.status_code": status})
    route = getattr(scope.get("route"), "path_format", "") or route_of(scope)
    if route:
        begun.set({"http.route": route})
        begun.rename(f"{name_method(scope)} {route}")
    if status >= 500:
        begun.fail(str(status))
