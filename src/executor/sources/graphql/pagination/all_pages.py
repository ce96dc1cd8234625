"""All pages of a GraphQL list, one after the other, within the bounds of every such list."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from graphql import print_ast

from executor.errors import ToolError
from executor.model.tool import Tool
from executor.network.client import Answer
from executor.sources.graphql import raw_documents
from executor.sources.graphql.pagination.selections import complete_selection
from executor.sources.graphql.storage_format import binding_of
from executor.sources.pagination.all_pages import walk_pages
from executor.sources.pagination.all_tool import LIMITS
from executor.sources.pagination.page_walk import Following, Walk

Ask = Callable[[dict[str, Any]], Awaitable[tuple[Answer, str]]]

SMALLER = (100, 50, 20, 10)
_ABOUT_SIZE = re.compile(
    r"\bfirst\b|\blimit\b|\brecords?\b|\bpage ?size\b|per ?page|complex|\bcosts?\b|too many|too large|maximum|exceed"
    r"|at most|greater than|less than|between|\btake\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\b\d{1,4}\b")
MAX_SIZES = 1_000


class PageSizes:
    """How many items a service gives at once, learnt from its refusals; for each tool of each source."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], int] = {}

    def of(self, source_id: str, tool: Tool) -> int:
        asked = next(iter(binding_of(tool)["all"].get("size", {"": 0}).values()))
        return self._known.get((source_id, tool.path), asked)

    def learn(self, source_id: str, tool: Tool, size: int) -> None:
        if len(self._known) >= MAX_SIZES:
            self._known.clear()
        self._known[source_id, tool.path] = size


async def collect(ask: Ask, source_id: str, tool: Tool, arguments: dict[str, Any], sizes: PageSizes) -> str:
    """A page that fails fails the call."""
    pages = Pages(ask, source_id, tool, arguments, sizes)
    walk = pages.walk

    async def turn(following: Any) -> tuple[Answer, Following]:
        answer, value = await pages.next(following)
        return answer, walk.add(answer, value) if value is not None else walk.stop("the service answered null")

    return await walk_pages(walk, arguments, turn)


class Pages:
    def __init__(self, ask: Ask, source_id: str, tool: Tool, arguments: dict[str, Any], sizes: PageSizes) -> None:
        self._ask, self._source_id, self._tool, self._sizes = ask, source_id, tool, sizes
        self._paging = binding_of(tool)["all"]
        self._given = {name: value for name, value in arguments.items() if name not in LIMITS}
        self._size_argument = self._paging.get("sizeArgument", "")
        self._is_own = self._given.get(self._size_argument) is None
        self.walk = Walk(self._paging, self._given.get(self._size_argument))

    async def next(self, following: dict[str, Any]) -> tuple[Answer, Any]:
        """Smaller, if the service finds what was asked for too large and the size is not the caller's."""
        while True:
            size = self._sizes.of(self._source_id, self._tool) if self._is_own else 0
            try:
                answer, text = await self._ask(self._arguments(following, size))
            except ToolError as error:
                smaller = smaller_size(error, size)
                if self.walk.pages or not smaller:
                    raise
                self._sizes.learn(self._source_id, self._tool, smaller)
                continue
            return answer, self._read_list(orjson.loads(text))

    def _arguments(self, following: dict[str, Any], size: int) -> dict[str, Any]:
        if "nested" not in self._paging:
            sized = {self._size_argument: size} if size and self._size_argument else {}
            return {**self._given, **sized, **following}
        name = binding_of(self._tool)["select"]
        document = raw_documents.selection_of(self._tool, self._given[name])
        document = complete_selection(document, self._paging, str(following.get(self._paging["argument"]) or ""), size)
        operation, *fragments = document.definitions
        text = "\n".join([print_ast(operation), *map(print_ast, fragments)])
        return {**self._given, name: text}

    def _read_list(self, value: Any) -> Any:
        """The list itself, with its items where the walk looks for them."""
        if "nested" in self._paging:
            value = next(iter(value.values()), None) if isinstance(value, dict) else None
        return flatten_connection(value) if self._paging["by"] == "cursor" and isinstance(value, dict) else value


def flatten_connection(value: dict[str, Any]) -> dict[str, Any]:
    """The nodes of a connection, and a cursor only if something follows: many send one with the last page as well."""
    nodes, info = value.get("nodes"), value.get("pageInfo")
    if nodes is None:
        nodes = [one.get("node") if isinstance(one, dict) else None for one in value.get("edges") or ()]
    if isinstance(info, dict) and info.get("hasNextPage") is False:
        info = {**info, "endCursor": None}
    return {**value, "nodes": nodes, "pageInfo": info}


def smaller_size(error: ToolError, size: int) -> int:
    """0 if the error is about something else, or nothing smaller is left."""
    if error.tool_code != "upstream_error" or error.http_status in (401, 403, 429) or (error.http_status or 0) >= 500:
        return 0
    if not _ABOUT_SIZE.search(error.message):
        return 0
    numbers = [int(text) for text in _NUMBER.findall(error.message)]
    named = [number for number in numbers if 1 <= number < size]
    return max(named) if named else next((one for one in SMALLER if one < size), 0)
