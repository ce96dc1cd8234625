"""Spans, as the rest of Executor sees them. Without an exporter `STATE.tracer` is None, and nothing is created.

The current span is kept here and not in OpenTelemetry's own context: libraries such as the MCP SDK pass on whatever
they find there, to any server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, Protocol

from executor.telemetry.error_codes import code_of
from executor.telemetry.trace_context import TraceContext, is_trusted_host

Value = str | int | float | bool
Attributes = Mapping[str, Value]
Kind = Literal["internal", "server", "client"]
Inbound = Literal["ignore", "link", "continue"]


class Span(Protocol):
    @property
    def context(self) -> TraceContext: ...

    def rename(self, name: str) -> None: ...

    def set(self, attributes: Attributes) -> None: ...

    def add_event(self, name: str, attributes: Attributes) -> None: ...

    def fail(self, code: str) -> None:
        """With a code of ours, or a status; never with a message."""
        ...

    def end(self) -> None: ...


class Tracer(Protocol):
    def start(
        self,
        name: str,
        kind: Kind,
        attributes: Attributes,
        parent: TraceContext | None,
        links: Sequence[TraceContext],
    ) -> Span: ...


@dataclass(slots=True)
class State:
    """`inbound` is what becomes of a caller's trace, `hosts` are those that get ours."""

    tracer: Tracer | None = None
    inbound: Inbound = "link"
    hosts: tuple[str, ...] = ()


class NoSpan:
    """What is traced while no one traces."""

    context = TraceContext("0" * 32, "0" * 16, sampled=False)

    def rename(self, name: str) -> None:
        pass

    def set(self, attributes: Attributes) -> None:
        pass

    def add_event(self, name: str, attributes: Attributes) -> None:
        pass

    def fail(self, code: str) -> None:
        pass

    def end(self) -> None:
        pass


STATE = State()
NO_SPAN = NoSpan()
NOTHING: AbstractContextManager[Span] = nullcontext(NO_SPAN)
CURRENT: ContextVar[Span | None] = ContextVar("executor_span", default=None)


def is_on() -> bool:
    return STATE.tracer is not None


def current_span() -> Span:
    return CURRENT.get() or NO_SPAN


def current_context() -> TraceContext | None:
    span = CURRENT.get()
    return span.context if span is not None else None


def start_span(
    name: str,
    attributes: Attributes,
    *,
    kind: Kind = "internal",
    parent: TraceContext | None = None,
    links: Sequence[TraceContext] = (),
) -> Span:
    """Without a parent it begins a trace."""
    tracer = STATE.tracer
    return NO_SPAN if tracer is None else tracer.start(name, kind, attributes, parent, links)


def span(
    name: str,
    attributes: Attributes,
    *,
    kind: Kind = "internal",
    caller: TraceContext | None = None,
    parent: TraceContext | None = None,
    links: Sequence[TraceContext] = (),
    is_root: bool = False,
) -> AbstractContextManager[Span]:
    """A part of what is under way, or of `parent`. `caller` is a context that a request brought: linked, or continued
    if the setting `trace_inbound` says so. `is_root` begins a trace that is linked to what is under way."""
    if STATE.tracer is None:
        return NOTHING
    parent = parent or current_context()
    if caller is not None and STATE.inbound == "continue":
        links = (*links, parent) if parent is not None else links
        parent = caller
    elif caller is not None and STATE.inbound == "link":
        links = (*links, caller)
    if is_root and parent is not None:
        links, parent = (*links, parent), None
    return within(start_span(name, attributes, kind=kind, parent=parent, links=links))


@contextmanager
def within(begun: Span) -> Iterator[Span]:
    """`begun` is the current span until it ends here."""
    token = CURRENT.set(begun)
    try:
        yield begun
    except Exception as error:
        begun.fail(code_of(error))
        raise
    except BaseException:
        begun.fail("cancelled")
        raise
    finally:
        CURRENT.reset(token)
        begun.end()


def outbound_traceparent(host: str) -> str | None:
    """For a request to this host, if it is one that gets our trace."""
    begun = CURRENT.get()
    if begun is None or not STATE.hosts or not is_trusted_host(host, STATE.hosts):
        return None
    return begun.context.traceparent
