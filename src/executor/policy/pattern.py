"""Patterns over tool paths.

A path is segments joined by dots. In a pattern a segment is a name or `*`, which matches exactly one segment.
At the end, `.*` and `.**` both match everything below. `*` or `**` alone matches every tool.
"""

from __future__ import annotations

import re
from functools import lru_cache

from executor.errors import InvalidRequest

SEGMENT = re.compile(r"[A-Za-z0-9_$-]+|\*")


def parse_pattern(text: str) -> tuple[str, ...]:
    """The pattern's segments; the last is `**` when it covers a subtree."""
    segments = text.split(".")
    if segments[-1] in ("*", "**"):
        segments[-1] = "**"
    for segment in segments[:-1] if segments[-1] == "**" else segments:
        if not SEGMENT.fullmatch(segment):
            raise InvalidRequest(
                f"the pattern {text!r} has a segment {segment!r} that is neither a name nor `*`",
                hint="for example: github.issues.create, github.*.list, github.** or **",
            )
    return tuple(segments)


@lru_cache(maxsize=4096)
def matches(pattern: str, path: str) -> bool:
    wanted, given = parse_pattern(pattern), path.split(".")
    if wanted[-1] == "**":
        wanted = wanted[:-1]
        if len(given) <= len(wanted):
            return False
        given = given[: len(wanted)]
    return len(given) == len(wanted) and all(w in ("*", g) for w, g in zip(wanted, given, strict=True))
