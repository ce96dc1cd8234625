"""All pages of what a server lists, within bounds: a server may page without end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from executor.errors import DocumentInvalid, SourceUnreachable
from executor.sources.mcp.sessions.session import METHOD_NOT_FOUND, RpcError
from executor.sources.source_request import Progress

MAX_PAGES = 2_000
MAX_TOOLS = 20_000
MAX_BYTES = 32_000_000

Ask = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


async def list_tools(ask: Ask, where: str, progress: Progress) -> list[Any]:
    """Raises DocumentInvalid if it is no listing, and whatever `ask` raises."""
    found: list[Any] = []
    cursor: str | None = None
    seen: set[str] = set()
    size = 0
    for _ in range(MAX_PAGES):
        try:
            page = await ask("tools/list", {} if cursor is None else {"cursor": cursor})
        except RpcError as error:
            if error.code == METHOD_NOT_FOUND and not found:
                return []
            raise refusal_of(where, error) from error
        tools = page.get("tools")
        if not isinstance(tools, list):
            raise DocumentInvalid(f"{where} lists no tools: its answer has no `tools`", hint="check the server")
        found += tools
        size += size_of(page)
        if len(found) > MAX_TOOLS or size > MAX_BYTES:
            most = f"at most {MAX_TOOLS:,} tools and {MAX_BYTES:,} bytes can be read"
            raise DocumentInvalid(f"{where} lists too many tools, or too much text about them", hint=most)
        cursor = page.get("nextCursor") if isinstance(page.get("nextCursor"), str) else None
        if not cursor:
            return found
        if cursor in seen:
            raise DocumentInvalid(f"{where} lists tools endlessly: its pages repeat", hint="check the server")
        seen.add(cursor)
        progress(f"{len(found):,} tools listed")
    raise DocumentInvalid(f"{where} lists tools in more than {MAX_PAGES:,} pages", hint="check the server")


def size_of(page: dict[str, Any]) -> int:
    try:
        return len(orjson.dumps(page, default=str))
    except (TypeError, ValueError):  # half a character, or a number that no double holds: it is text all the same
        return len(repr(page))


def refusal_of(where: str, error: RpcError) -> SourceUnreachable:
    said = "".join(c if c.isprintable() else " " for c in error.message)[:200]
    return SourceUnreachable(
        f"{where} refuses to list its tools: {said}", hint="see the server's own log", reason="refused", sent=True
    )
