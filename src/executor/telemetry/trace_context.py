"""Where a span is: its trace, itself, and whether it is recorded. Read and written as W3C Trace Context.

Of what a caller sends only these three are read. `tracestate` and `baggage` can hold anything, so they are never kept
and never passed on.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from executor.dataclass import dataclass

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII | re.DOTALL)
LONGEST = 512
STDIO = "stdio"  # in the setting `trace_hosts`: MCP servers that Executor starts


@dataclass(frozen=True, slots=True)
class TraceContext:
    trace_id: str
    span_id: str
    sampled: bool = True

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"


def parse(text: object) -> TraceContext | None:
    """None for anything that is not exactly what the standard says. Later versions may have more at the end."""
    found = _TRACEPARENT.fullmatch(text) if isinstance(text, str) and len(text) <= LONGEST else None
    if found is None or found[1] == "ff" or (found[1] == "00" and found[5]):
        return None
    if found[2].strip("0") == "" or found[3].strip("0") == "":
        return None
    return TraceContext(found[2], found[3], bool(int(found[4], 16) & 1))


def is_trusted_host(host: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(host.lower(), pattern) for pattern in patterns)
