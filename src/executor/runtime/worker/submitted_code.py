"""Code as agents submit it: often inside the fence of a Markdown block."""

from __future__ import annotations

import re

_FENCE = re.compile(rb"\A\s*(```[^\n`]*\n).*?(```)\s*\Z", re.DOTALL)


def without_fence(submitted: bytes) -> bytes:
    fence = _FENCE.match(submitted)
    if fence is None:
        return submitted
    out = bytearray(submitted)
    for group in (1, 2):
        start, end = fence.span(group)
        out[start:end] = re.sub(rb"[^\r\n]", b" ", submitted[start:end])
    return bytes(out)
