"""The lists of one document that come in pages, and which of them can be read as a whole."""

from __future__ import annotations

from pathlib import Path

from executor.errors import ExecutorError
from executor.sources.egress import Egress
from executor.sources.openapi.kind import OpenApi

from .check import load, unpacked
from .documents import Document, keys, read
from .lists import paged_lists
from .result import Result


async def check_lists(path: Path, name: str) -> Result:
    result = Result(name)
    egress = Egress()
    try:
        tools, _ = unpacked(await load(OpenApi(egress, load_seconds=300), path))
    except ExecutorError as error:
        result.error = f"{error.message} ({error.hint})"[:500]
        return result
    finally:
        await egress.close()
    result.loaded, result.tools = True, len(tools)
    whole = {tool.binding["operation"] for tool in tools if "all" in tool.binding}
    for one in paged_lists(Document(path, keys(read(path)))):
        result.lists += 1
        if f"{one.method} {one.path}" in whole:
            result.with_all += 1
        else:
            result.named.append(
                f"{one.method} {one.path}: no `.all` ({one.turns}, {one.tells}, {one.arrays[:4]})"[:400]
            )
    return result
