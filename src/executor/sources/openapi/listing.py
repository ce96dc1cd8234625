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
from executor.sources.openapi.ends import says_more, stated_offset, stated_page, stated_page_count, stated_total
from executor.sources.openapi.links import is_paging, next_link
from executor.sources.openapi.pages import DEFAULT_ITEMS, DEFAULT_PAGES, LIMITS
from executor.sources.openapi.request import ACCEPT
from executor.sources.openapi.results import result_text
from executor.sources.openapi.servers import origin_of

MAX_SECONDS = 120.0
MAX_BYTES = 7_000_000
COUNTED = ("page", "offset")
BEHIND_THE_END = (404, 416)

Following = dict[str, Any] | str | None


class Sender(Protocol):
    async def send(self, source: Source, tool: Tool, arguments: dict[str, Any]) -> Answer: ...

    async def follow(self, source: Source, tool: Tool, before: str, outgoing: Outgoing) -> Answer: ...


class Walk:
    """What is known of a list so far. `complete` is true once the service has said, or shown, that nothing follows."""

    def __init__(self, tool: Tool) -> None:
        self.paging: dict[str, Any] = tool.binding["all"]
        self.items: list[Any] = []
        self.pages = 0
        self.complete = False
        self._tool = tool
        self._start: int | None = None if self.paging.get("guessed") else self.paging.get("start", 0)
        self._is_probe = False  # page 1 was asked for, which may be the first or the second
        self._has_links = False
        self._total: int | None = None
        self._last: list[Any] = []
        self._seen: set[str] = set()

    def add(self, answer: Answer, value: Any) -> Following:
        """Takes a page in. Arguments of the next one, or its address; None after the last."""
        found = items_in(value, self.paging["items"])
        if self._is_probe and self._settle(found):
            return self._refuse_circle({self.paging["argument"]: 2})
        if found and found == self._last and isinstance(found[0], dict):
            raise circular(self._tool, self.pages)
        self._last = found
        self.items.extend(found)
        self.pages += 1
        self._total = stated_total(value) if self._total is None else self._total
        return self._refuse_circle(self._next(answer, value, found))

    def end(self, says_end: bool = True) -> Following:
        """Nothing follows. A list that is shorter than the service said is not whole."""
        self.complete = says_end and (self._total is None or len(self.items) >= self._total)
        return None

    def _settle(self, found: list[Any]) -> bool:
        """Whether page 1 was the first one again: then pages are counted from 1, whatever answers say, else from 0."""
        self._is_probe = False
        first, again = ({orjson.dumps(one) for one in page} for page in (self._last, found))
        is_same = len(first & again) * 2 >= len(first) and bool(found)
        self._start = 1 if is_same else 0
        return is_same

    def _refuse_circle(self, following: Following) -> Following:
        if following is not None:
            mark = repr(following)
            if mark in self._seen:  # a service that ignores the argument would give the same page for ever
                raise circular(self._tool, self.pages)
            self._seen.add(mark)
        return following

    def _next(self, answer: Answer, value: Any, found: list[Any]) -> Following:
        by, more = self.paging["by"], says_more(value)
        header = answer.headers.get("Link", "")
        link, has_links = next_link(header), is_paging(header)
        had_links, self._has_links = self._has_links, self._has_links or has_links
        if link and by in ("link", *COUNTED):
            return urljoin(answer.url, link)
        if by == "link":
            return self.end(self._has_links or not self.paging.get("undeclared") or not found)
        if by in COUNTED:
            is_over = more is False or not found or had_links or has_links
            return self.end(more is not True) if is_over else self._count_on(by, value)
        return self._by_answer(by, answer, value, found, more)

    def _count_on(self, by: str, value: Any) -> Following:
        argument = self.paging["argument"]
        if by == "offset":
            if self.pages == 1 and "start" in argument.lower() and stated_offset(value) == 1:
                self._start = 1
            # What is no more than one page has may count that page alone.
            is_all = self._total is not None and len(self._last) < self._total <= len(self.items)
            return self.end() if is_all else {argument: (self._start or 0) + len(self.items)}
        if self.pages == 1:
            first = stated_page(value)
            self._start = first if first == 0 or (first == 1 and self._start is None) else self._start
        pages = stated_page_count(value)
        if pages and self.pages >= pages:
            return self.end()
        if self.pages == 1 and not self._start:
            self._is_probe = True
        return {argument: 1 if self._is_probe else (self._start or 0) + self.pages}

    def _by_answer(self, by: str, answer: Answer, value: Any, found: list[Any], more: bool | None) -> Following:
        if by == "last":
            last = found[-1].get("id") if found and isinstance(found[-1], dict) else None
            has_more = isinstance(value, dict) and value.get(self.paging["more"]) is True
            return {self.paging["argument"]: last} if has_more and last is not None else self.end(not has_more)
        told = at(value, self.paging["from"])
        if told is None or told in ("", False, 0) or isinstance(told, dict | list):
            return self.end(more is not True)
        if by == "next" or (isinstance(told, str) and told.startswith(("http://", "https://"))):
            return urljoin(answer.url, str(told))
        if self.paging.get("more") and more is False:  # the last identifier is told on the last page as well
            return self.end()
        return {self.paging["argument"]: told}


async def collect(sender: Sender, source: Source, tool: Tool, arguments: dict[str, Any]) -> str:
    """`{items, pages, complete}` as JSON. A page that fails fails the call: half a list would look like a whole one."""
    max_pages = int(arguments.get("maxPages") or DEFAULT_PAGES)
    max_items = int(arguments.get("maxItems") or DEFAULT_ITEMS)
    given, walk = {**tool.binding["all"].get("size", {}), **first_page(arguments)}, Walk(tool)
    size, started, before = 0, time.monotonic(), ""
    following: Following = {}
    while following is not None and walk.pages < max_pages and len(walk.items) < max_items:
        if size > MAX_BYTES or time.monotonic() - started > MAX_SECONDS:
            break
        answer = await ask(sender, source, tool, given, following, before)
        before = answer.url
        if walk.pages and walk.paging["by"] in COUNTED and answer.status in BEHIND_THE_END:
            walk.end()
            break
        value = orjson.loads(result_text(tool, answer))
        size += len(answer.body)
        following = walk.add(answer, value)
    complete = walk.complete and len(walk.items) <= max_items
    return orjson.dumps({"items": walk.items[:max_items], "pages": walk.pages, "complete": complete}).decode()


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
