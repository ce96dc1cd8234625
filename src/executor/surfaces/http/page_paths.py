"""Which addresses are pages of the web UI. The guard asks before anything heavy is imported."""

from __future__ import annotations

RESERVED = frozenset({"v1", "mcp", "internal", "oauth", "healthz", ".well-known"})
METHODS = frozenset({"GET", "HEAD"})


def is_page(method: str, path: str) -> bool:
    """A page, or a file that one loads: the same for everyone, so no one has to say who they are."""
    return method in METHODS and path.startswith("/") and path[1:].partition("/")[0].lower() not in RESERVED
