"""All pages of what a server lists, within bounds: a server may page without end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from executor.errors import DocumentInvalid, SourceUnreachable
from executor.sources.kind import Progress
from executor.sources.mcp.rpc import METHOD_NOT_FOUND, RpcError

MAX_PAGES = 2_000
MAX_TOOLS = 20_000

Ask = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


async def list_tools(ask: Ask, where: str, progress: Progress) -> list[Any]:
    """Raises DocumentInvalid if it is no listing, and whatever `ask` raises."""
    found: list[Any] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(MAX_PAGES):
        try:
            page = await ask("tools/list", {} if cursor is None else {"cursor": cursor})
        except RpcError as error:
            if error.code == METHOD_NOT_FOUND and not found:
                return []
            raise refused(where, error) from error
        tools = page.get("tools")
        if not isinstance(tools, list):
            raise DocumentInvalid(f"{where} lists no tools: its answer has no `tools`", hint="check the server")
        found += tools
        cursor = page.get("nextCursor") if isinstance(page.get("nextCursor"), str) else None
        if not cursor:
            return found
        if cursor in seen or len(found) > MAX_TOOLS:
            raise DocumentInvalid(f"{where} lists tools without end", hint=f"at most {MAX_TOOLS:,} can be read")
        seen.add(cursor)
        progress(f"{len(found):,} tools listed")
    raise DocumentInvalid(f"{where} lists tools in more than {MAX_PAGES:,} pages", hint="check the server")


def refused(where: str, error: RpcError) -> SourceUnreachable:
    said = "".join(c if c.isprintable() else " " for c in error.message)[:200]
    return SourceUnreachable(
        f"{where} refuses to list its tools: {said}", hint="see the server's own log", reason="refused", sent=True
    )
