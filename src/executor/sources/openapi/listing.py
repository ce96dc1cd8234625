"""All pages of a list, one after the other, within bounds."""

from __future__ import annotations

import time
from typing import Any, Protocol
from urllib.parse import urljoin

import orjson

from executor.errors import ToolError
from executor.model.source import Source
from executor.model.tool import Tool
from executor.sources.egress import Answer, Outgoing
from executor.sources.openapi.links import next_link
from executor.sources.openapi.pages import DEFAULT_ITEMS, DEFAULT_PAGES, LIMITS
from executor.sources.openapi.request import ACCEPT
from executor.sources.openapi.results import result_text
from executor.sources.openapi.servers import origin_of

MAX_SECONDS = 120.0
MAX_BYTES = 7_000_000


class Sender(Protocol):
    async def send(self, source: Source, tool: Tool, arguments: dict[str, Any]) -> Answer: ...

    async def follow(self, source: Source, tool: Tool, before: str, outgoing: Outgoing) -> Answer: ...


async def collect(sender: Sender, source: Source, tool: Tool, arguments: dict[str, Any]) -> str:
    """`{items, pages, complete}` as JSON. A page that fails fails the call: half a list would look like a whole one."""
    paging = tool.binding["all"]
    max_pages = int(arguments.get("maxPages") or DEFAULT_PAGES)
    max_items = int(arguments.get("maxItems") or DEFAULT_ITEMS)
    given = first_page(arguments)
    items: list[Any] = []
    size, page, started, before = 0, 0, time.monotonic(), ""
    following: dict[str, Any] | str | None = {}
    seen: set[str] = set()
    while following is not None and page < max_pages and len(items) < max_items:
        if size > MAX_BYTES or time.monotonic() - started > MAX_SECONDS:
            break
        answer = await ask(sender, source, tool, given, following, before)
        before = answer.url
        value = orjson.loads(result_text(tool, answer))
        size, page = size + len(answer.body), page + 1
        found = items_in(value, paging["items"])
        items.extend(found)
        following = next_page(paging, answer, value, found, page, len(items))
        if following is not None:
            mark = repr(following)
            if mark in seen:  # a service that ignores the argument would give the same page for ever
                raise circular(tool, page)
            seen.add(mark)
    complete = following is None and len(items) <= max_items
    return orjson.dumps({"items": items[:max_items], "pages": page, "complete": complete}).decode()


def first_page(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in LIMITS}


async def ask(
    sender: Sender, source: Source, tool: Tool, given: dict[str, Any], following: dict[str, Any] | str, before: str
) -> Answer:
    if isinstance(following, dict):
        return await sender.send(source, tool, {**given, **following})
    base_url = tool.binding["server"] or source.config["base_url"]
    if origin_of(following) != origin_of(base_url):
        raise ToolError(
            "unexpected_response",
            f"{tool.path}: the next page is on another origin, which was not asked",
            hint="call the tool itself, page by page",
        )
    headers = {"Accept": tool.binding.get("accept", ACCEPT)}
    return await sender.follow(source, tool, before, Outgoing("GET", following, headers))


def next_page(
    paging: dict[str, Any], answer: Answer, value: Any, found: list[Any], page: int, count: int
) -> dict[str, Any] | str | None:
    """Arguments of the next page, or its address; None after the last."""
    by = paging["by"]
    link = next_link(answer.headers.get("Link", ""))
    if link and by in ("link", "page", "offset"):
        return urljoin(answer.url, link)
    if by == "link" or (by in ("page", "offset") and not found):
        return None
    if by == "page":
        return None if "Link" in answer.headers else {paging["argument"]: paging["start"] + page}
    if by == "offset":
        return {paging["argument"]: paging["start"] + count}
    if by == "last":
        last = found[-1].get("id") if found and isinstance(found[-1], dict) else None
        return {paging["argument"]: last} if value.get(paging["more"]) is True and last is not None else None
    told = at(value, paging["from"])
    if told is None or told in ("", False, 0) or isinstance(told, dict | list):
        return None
    if by == "next" or (isinstance(told, str) and told.startswith(("http://", "https://"))):
        return urljoin(answer.url, str(told))
    return {paging["argument"]: told}


def items_in(value: Any, path: list[str]) -> list[Any]:
    found = at(value, path)
    return found if isinstance(found, list) else []


def at(value: Any, path: list[str]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def circular(tool: Tool, page: int) -> ToolError:
    return ToolError(
        "unexpected_response",
        f"{tool.path}: page {page} leads back to a page that was read already",
        hint="call the tool itself, page by page",
    )
