"""The lists of one document that come in pages, and which of them can be read as a whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from executor.errors import ToolError
from executor.model.source import Source
from executor.model.tool import Tool
from executor.sources.openapi.kind import OpenApi

from .calls import Impossible, make
from .check import load, local_service, unpacked
from .documents import Document, keys, read
from .lists import PagedList, paged_lists
from .paging_service import PagingService
from .result import Result
from .server import Server
from .values import Maker

# How many items a list has, where its pages begin if nobody says so, and how its end is said.
TRIALS = ((7, 1, 0), (6, 0, 1), (0, 1, 2), (1, 0, 0), (3, 1, 1))


async def check_lists(path: Path, name: str) -> Result:
    result = Result(name)
    async with local_service(result) as (kind, server):
        loaded = await load(kind, path)
        result.loaded = True
        source = Source(
            "s", "w", "openapi", loaded.namespace, loaded.name, {"base_url": server.url, "origins": [server.url]}
        )
        await check_all(kind, server, source, path, unpacked(loaded)[0], result)
    return result


async def check_all(
    kind: OpenApi, server: Server, source: Source, path: Path, tools: list[Tool], result: Result
) -> None:
    document = Document(path, keys(read(path)))
    by_path = {tool.path: tool for tool in tools}
    whole = {tool.binding["operation"]: tool for tool in tools if "all" in tool.binding}
    operations = {(method, where): (operation, item) for method, where, operation, item in document.operations()}
    result.tools = len(tools)
    for one in paged_lists(document):
        result.lists += 1
        tool = whole.get(f"{one.method} {one.path}")
        if tool is None:
            problem = f"no `.all` ({one.turns}, {one.tells}, {one.arrays[:4]})"
        else:
            result.with_all += 1
            base = by_path[tool.path.removesuffix(".all")]
            problem = await read_whole(
                kind, server, source, document, one, operations[one.method, one.path], base, tool
            )
        if problem:
            result.named.append(f"{one.method} {one.path}: {problem}"[:400])
        else:
            result.right += 1


async def read_whole(
    kind: OpenApi,
    server: Server,
    source: Source,
    document: Document,
    one: PagedList,
    where: tuple[dict[str, Any], dict[str, Any]],
    base: Tool,
    tool: Tool,
) -> str:
    """Empty if every item came once and the end was known, whatever the list's length."""
    try:
        given = make(
            document,
            one.method,
            one.path,
            *where,
            base,
            Maker(document, full=False, choice=0, odd=False, examples=False),
        ).arguments
    except Impossible as error:
        return str(error)
    given = {**given, **given.pop("body", {})} if isinstance(given.get("body"), dict) else given
    given = {name: value for name, value in given.items() if name in tool.input_schema["properties"]}
    tool = replace(tool, binding={**tool.binding, "server": ""})
    for total, first, end in TRIALS:
        service = PagingService(document, one, server.url, total, base=first, end=end)
        server.respond = service.respond
        try:
            found = json.loads(await kind.invoke(source, tool, given, ""))
        except ToolError as error:
            return f"{service.mode}: {total} items: {error.tool_code} {error.message}; {service.problem}"
        if found["items"] != service.cells or not found["complete"] or service.problem:
            came = [cell.get("id") if isinstance(cell, dict) else cell for cell in found["items"]]
            return f"{service.mode}: of {total} items came {came}, {found.get('reason', 'complete')}; {service.problem}"
    return ""
