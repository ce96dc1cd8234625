"""One outbound HTTP request as a span, and whether it carries the trace to where it goes.

Imported only while something is traced. The span has the host and the status: an address may have a secret in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from executor.network.addresses import Target
from executor.network.client import Answer, Outgoing
from executor.telemetry import tracer

METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "QUERY"})
HEADER = "traceparent"


@contextmanager
def trace_request(outgoing: Outgoing, target: Target) -> Iterator[tuple[Outgoing, Callable[[Answer], Answer]]]:
    method = outgoing.method if outgoing.method in METHODS else "_OTHER"
    attributes: dict[str, tracer.Value] = {
        "http.request.method": method,
        "server.address": target.host,
        "server.port": target.port,
    }
    with tracer.span(method, attributes, kind="client") as begun:

        def note(answer: Answer) -> Answer:
            begun.set({"http.response.status_code": answer.status})
            if answer.status >= 400:
                begun.fail(str(answer.status))
            return answer

        yield with_trace(outgoing, target.host), note


def with_trace(outgoing: Outgoing, host: str) -> Outgoing:
    """Only to hosts that the setting `trace_hosts` lists, and never over a header that is there already. A redirect is
    a request of its own, judged by where it leads."""
    traceparent = tracer.outbound_traceparent(host)
    if traceparent is None or any(name.lower() == HEADER for name in outgoing.headers):
        return outgoing
    return replace(outgoing, headers={**outgoing.headers, HEADER: traceparent})
