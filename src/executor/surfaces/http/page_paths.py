"""Which addresses are pages of the web UI, and where others have moved. Asked before anything heavy is imported."""

from __future__ import annotations

from executor.errors import NotFound

RESERVED = frozenset({"v1", "mcp", "internal", "oauth", "healthz", "readyz", "metrics", ".well-known", "api", "auth"})
METHODS = frozenset({"GET", "HEAD"})
# First segments of the addresses that the router of the web UI knows.
PAGES = frozenset(
    {
        "", "approvals", "audit", "connect", "executions", "invitation", "playground", "policies", "secrets",
        "sessions", "settings", "sign-in", "sources", "toolkits", "tools",
    }
)  # fmt: skip
OTHER_NAMES = {"/tasks": "/executions"}
# Routes by the names that similar products give them.
MOVED = {
    "/api/approvals": "/v1/interactions",
    "/api/auth": "/v1/auth",
    "/api/credentials": "/v1/connections",
    "/api/executions": "/v1/executions",
    "/api/policies": "/v1/policies",
    "/api/secrets": "/v1/secrets",
    "/api/sources": "/v1/sources",
    "/api/tasks": "/v1/executions",
    "/api/tool-sources": "/v1/sources",
    "/api/tools": "/v1/tools",
    "/auth": "/v1/auth",
}


def is_page(method: str, path: str) -> bool:
    """A page, or a file that one loads: the same for everyone, so no one has to say who they are."""
    return method in METHODS and path.startswith("/") and first_segment(path) not in RESERVED


def has_page(path: str) -> bool:
    return first_segment(path) in PAGES


def first_segment(path: str) -> str:
    return path[1:].partition("/")[0].lower()


def check_moved(path: str) -> None:
    """Raises NotFound with the route that does the same."""
    if not path.startswith(("/api", "/auth")) or first_segment(path) not in ("api", "auth"):
        return
    own = next((own for other, own in MOVED.items() if path == other or path.startswith(f"{other}/")), "")
    rest = path.partition("/auth")[2] if own == "/v1/auth" else ""
    known = f"use {own}{rest}" if own else "the API is at /v1, and /v1/openapi.json describes it"
    raise NotFound(f"there is nothing at {path[:200]!r}", hint=known)


def nothing_there(path: str) -> NotFound:
    return NotFound(f"there is nothing at {path[:200]!r}", hint="the web UI is at /, the API at /v1, MCP at /mcp")
