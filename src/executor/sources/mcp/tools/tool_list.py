"""All pages of what a server lists, within bounds: a server may page without end."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import Any

import orjson

from executor.dataclass import dataclass
from executor.errors import DocumentInvalid, SourceError, SourceUnreachable
from executor.model.tool import Skipped
from executor.sources.mcp.sessions.session import METHOD_NOT_FOUND, RpcError
from executor.sources.mcp.transports.endpoint import printable
from executor.sources.source_request import Progress

MAX_PAGES = 2_000
MAX_TOOLS = 20_000
MAX_BYTES = 32_000_000
MAX_LISTED = 500  # resources, templates or prompts that become tools
MAX_LISTED_PAGES = 100
MAX_LISTED_BYTES = 8_000_000
MAX_LISTED_SECONDS = 60.0

Ask = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
# What a server has besides tools: the request that lists it, and where in the answer it is.
OTHERS = {
    "resources": (("resources/list", "resources"), ("resources/templates/list", "resourceTemplates")),
    "prompts": (("prompts/list", "prompts"),),
}


@dataclass(frozen=True, slots=True)
class Listed:
    """What a server lists, as it came. Many servers say that they have resources, and have none."""

    tools: list[Any]
    resources: list[Any] = field(default_factory=list)
    templates: list[Any] = field(default_factory=list)
    prompts: list[Any] = field(default_factory=list)
    skipped: tuple[Skipped, ...] = ()

    @property
    def has_resources(self) -> bool:
        return bool(self.resources or self.templates)


async def list_all(ask: Ask, where: str, features: tuple[str, ...], progress: Progress) -> Listed:
    """Raises as `list_tools` does. Of the rest, what can't be listed is left out, with the reason."""
    tools = await list_tools(ask, where, progress)
    found: dict[str, list[Any]] = {"resources": [], "resourceTemplates": [], "prompts": []}
    skipped: list[Skipped] = []
    for feature in features:
        for method, key in OTHERS[feature]:
            found[key], reason = await list_others(ask, method, key)
            skipped += [Skipped(method, reason)] if reason else []
    return Listed(tools, found["resources"], found["resourceTemplates"], found["prompts"], tuple(skipped))


async def list_others(ask: Ask, method: str, key: str) -> tuple[list[Any], str]:
    """As many as become tools, and why that is not all."""
    found: list[Any] = []
    cursor: str | None = None
    size, ends = 0, time.monotonic() + MAX_LISTED_SECONDS
    for _ in range(MAX_LISTED_PAGES):
        try:
            page = await ask(method, {} if cursor is None else {"cursor": cursor})
        except RpcError as error:
            unknown = error.code == METHOD_NOT_FOUND
            return found, "" if unknown else f"the server refuses to list them: {printable(error.message, 200)}"
        except SourceError as error:
            return found, f"they can't be listed: {error.message}"
        if not isinstance(page.get(key), list):
            return found, f"the server's answer has no `{key}`"
        found += page[key]
        size += size_of(page)
        cursor = page.get("nextCursor") if isinstance(page.get("nextCursor"), str) else None
        if len(found) > MAX_LISTED or size > MAX_LISTED_BYTES:
            return found[:MAX_LISTED], f"only the first {min(len(found), MAX_LISTED)} became tools"
        if not cursor:
            return found, ""
        if time.monotonic() > ends:
            return found, f"only the first {len(found)} became tools: the server is too slow"
    return found, f"only the first {MAX_LISTED_PAGES} pages became tools"


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
