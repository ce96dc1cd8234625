"""All pages of a list, one after the other, within bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import orjson

from executor.errors import ToolError
from executor.model.source import Source
from executor.model.tool import Tool
from executor.network.client import Answer, Outgoing
from executor.sources.openapi.calls.request import ACCEPT
from executor.sources.openapi.calls.results import result_text
from executor.sources.openapi.storage_format import binding_of, server_of
from executor.sources.openapi.tools.servers import origin_of
from executor.sources.pagination.all_pages import Place, walk_pages
from executor.sources.pagination.all_tool import LIMITS
from executor.sources.pagination.page_walk import Following, Walk

BEHIND_THE_END = (404, 416)
REFUSED = (400, 422)


class Sender(Protocol):
    async def send(self, source: Source, tool: Tool, arguments: dict[str, Any]) -> Answer: ...

    async def follow(self, source: Source, tool: Tool, before: str, outgoing: Outgoing) -> Answer: ...


async def collect(sender: Sender, source: Source, tool: Tool, arguments: dict[str, Any]) -> str:
    """A page that fails fails the call."""
    binding = binding_of(tool)
    paging = binding["all"]
    given = {**paging.get("size", {}), **first_page(arguments)}
    may_follow = binding["method"] in ("GET", "QUERY") and binding["body"] is None
    walk, before = Walk(paging, given.get(paging.get("sizeArgument", "")), may_follow=may_follow), ""

    async def turn(following: Place) -> tuple[Answer, Following]:
        nonlocal before
        answer = await ask(sender, source, tool, given, following, before)
        before = answer.url
        return answer, take(walk, tool, answer, following)

    return await walk_pages(walk, arguments, turn)


def take(walk: Walk, tool: Tool, answer: Answer, asked: Following) -> Following:
    if walk.is_counted and isinstance(asked, dict):
        if not walk.pages and 0 in asked.values() and answer.status in (*BEHIND_THE_END, *REFUSED):
            return walk.begin_at_one()
        if walk.pages and answer.status in BEHIND_THE_END:
            return walk.end_behind()
        if walk.pages and answer.status in REFUSED:
            return walk.stop(f"the service refused page {walk.pages + 1} ({answer.status}), so more may follow")
    if walk.is_trying and answer.status in REFUSED:
        return walk.stop("the service does not say where the next page begins, so more may follow")
    if walk.pages and answer.status == 200 and not answer.body:
        return walk.stop(f"page {walk.pages + 1} returned no answer, so more may follow")
    return walk.add(answer, orjson.loads(result_text(tool, answer)))


def first_page(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in LIMITS}


async def ask(
    sender: Sender, source: Source, tool: Tool, given: dict[str, Any], following: Place, before: str
) -> Answer:
    if isinstance(following, dict):
        return await sender.send(source, *place_page(tool, given, following))
    if origin_of(following) != origin_of(server_of(source, tool)):
        raise ToolError(
            "unexpected_response",
            f"{tool.path}: the next page is on another origin, so it was not requested",
            hint="call the tool itself, page by page",
        )
    headers = {"Accept": binding_of(tool).get("accept", ACCEPT)}
    return await sender.follow(source, tool, before, Outgoing("GET", following, headers))


def place_page(tool: Tool, given: dict[str, Any], following: dict[str, Any]) -> tuple[Tool, dict[str, Any]]:
    """The page in its place. In a body it is a field that is no argument of this tool."""
    binding = binding_of(tool)
    body = binding["body"]
    if body is None or binding["all"].get("place") != "body":
        return tool, {**given, **following}
    tool = replace(tool, binding={**tool.binding, "body": {**body, "flat": [*body["flat"], *following]}})
    whole = given.get(tool.body_argument)
    if isinstance(whole, dict):
        return tool, {**given, tool.body_argument: {**whole, **following}}
    return tool, {**given, **following}
