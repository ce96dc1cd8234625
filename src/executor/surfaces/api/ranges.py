"""The `Range` of a request (RFC 9110): one range of bytes. What is malformed, or several at once, is the whole."""

from __future__ import annotations

import re
from typing import NamedTuple

_RANGE = re.compile(r"bytes=\s*(\d{0,15})-(\d{0,15})\s*")


class Span(NamedTuple):
    """From `start` up to `end`; `part` if that was asked for."""

    start: int
    end: int
    part: bool


def requested(header: str | None, if_range: str | None, size: int, tag: str) -> Span | None:
    """None if nothing of what is there was asked for."""
    whole = Span(0, size, False)
    found = _RANGE.fullmatch(header) if header and header.isascii() else None
    if found is None or (if_range is not None and if_range != tag) or found.groups() == ("", ""):
        return whole
    first, last = found.groups()
    if not first:  # the last so many bytes
        start, end = max(0, size - int(last)), size
    else:
        start, end = int(first), min(size, int(last) + 1) if last else size
        if last and int(last) < start:
            return whole
    return Span(start, end, True) if start < end else None
