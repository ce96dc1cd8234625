"""`tools.executor.artifacts.*`: code reads what is too large for a model's context, whole or page by page.

Code sees the artifacts of anyone who runs it: those of the executions that the same actor submitted, and no others.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any, Final
from weakref import WeakValueDictionary

import orjson
from sqlalchemy.engine import Connection

from executor.errors import NotFound, ToolError
from executor.execution.artifacts.contents import Contents
from executor.execution.artifacts.files import raise_gone, tool_errors
from executor.execution.artifacts.pages import at_pointer, occurrences, page_of
from executor.execution.builtins.declaration import own_tool, text
from executor.model.artifact import Artifact
from executor.model.execution import Execution
from executor.model.tool import Schema, Tool
from executor.storage.database import Database
from executor.storage.executions import artifacts, executions

MATCHES = 20
LISTED = 50
TURNS = 2
FARTHEST = 2**53
FILE_PAGE = 4 * 1024 * 1024
_ID = text("art_…, from the result that mentions it")
_COUNT: Schema = {"type": "integer", "minimum": 0}
_OPTIONAL: Schema = {"type": ["integer", "null"]}
_ABOUT: Schema = {"id": {"type": "string"}, "mediaType": {"type": "string"}, "size": {"type": "integer"}}
_PAGE: Schema = {
    **_ABOUT,
    "kind": {"type": "string", "description": "array, object, string, lines, bytes, number, boolean or null"},
    "value": {"description": "the value there, or this page of it; bytes as base64"},
    "total": {**_OPTIONAL, "description": "items, keys, characters, lines or bytes there"},
    "offset": {"type": "integer"},
    "next": {**_OPTIONAL, "description": "the offset of the following page"},
}
_MATCH: Schema = {
    "type": "object",
    "properties": {"pointer": {"type": "string"}, "line": {"type": "integer"}, "text": {"type": "string"}},
}
_LISTED: Schema = {
    **_ABOUT,
    "executionId": {"type": "string"},
    "call": _OPTIONAL,
    "name": {"type": "string"},
}


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


READ: Final = own_tool(
    "executor.artifacts.read",
    "Read a large result: all of it, or one page of the value at a JSON pointer.",
    "read",
    {
        "id": _ID,
        "pointer": {"type": "string", "description": "JSON pointer such as /items/3; default: the whole value"},
        "offset": {**_COUNT, "description": "items, keys, characters, lines or bytes to skip"},
        "limit": {"type": "integer", "minimum": 1, "description": "how many; default: all"},
        "lines": {"type": "boolean", "description": "count lines instead of characters"},
    },
    ("id",),
    _object(_PAGE),
)
SEARCH: Final = own_tool(
    "executor.artifacts.search",
    "Find text in a large result: returns JSON pointers, or line numbers in plain text.",
    "read",
    {
        "id": _ID,
        "query": text("plain text, case-insensitive"),
        "limit": {"type": "integer", "minimum": 1, "maximum": 200},
    },
    ("id", "query"),
    _object({"id": {"type": "string"}, "matches": {"type": "array", "items": _MATCH}, "more": {"type": "boolean"}}),
)
LIST: Final = own_tool(
    "executor.artifacts.list",
    "List the stored large results, newest first.",
    "read",
    {"executionId": text("only of this execution"), "limit": {"type": "integer", "minimum": 1, "maximum": 200}},
    (),
    {"type": "array", "items": _object(_LISTED)},
)
TOOLS: Final[tuple[Tool, ...]] = (READ, SEARCH, LIST)
PATHS: Final = frozenset(tool.path for tool in TOOLS)


class ArtifactQueue:
    """Few read at a time, and of each execution one: a value takes up to thirty times the memory of its text, and
    code may ask for a thousand at once."""

    def __init__(self) -> None:
        self._all = asyncio.Semaphore(TURNS)
        self._own: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, execution: Execution) -> AsyncIterator[None]:
        own = self._own.setdefault(execution.id, asyncio.Lock())
        async with own, self._all:
            yield


async def invoke(
    contents: Contents, queue: ArtifactQueue, execution: Execution, tool: Tool, arguments: dict[str, Any]
) -> str:
    if tool.path == LIST.path:
        return orjson.dumps(await _list(contents.database, execution, arguments)).decode()
    answer = _read if tool.path == READ.path else _search
    async with queue.turn(execution):
        artifact, content = await contents.database.read(lambda c: _readable(c, execution, arguments))
        if content is None:
            with tool_errors(artifact.id):
                content = await contents.read(artifact, *_bounds(artifact, arguments))
        return await asyncio.to_thread(answer, artifact, content, arguments)  # large ones take a while


async def _list(database: Database, execution: Execution, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    found = await database.read(
        lambda c: artifacts.page(
            c,
            execution.workspace_id,
            execution_id=arguments.get("executionId", ""),
            actor_id=execution.actor_id,
            toolkit_id=execution.toolkit_id,
            limit=_count(arguments, "limit", LISTED),
        )
    )
    return [
        {**_about(one), "executionId": one.execution_id, "call": one.call_seq or None, "name": one.name}
        for one in found
    ]


def _readable(c: Connection, execution: Execution, arguments: dict[str, Any]) -> tuple[Artifact, bytes | None]:
    """With its content, unless that is an object."""
    artifact_id = arguments["id"]
    artifact = artifacts.get(c, execution.workspace_id, artifact_id)
    owner = executions.get(c, execution.workspace_id, artifact.execution_id) if artifact else None
    if artifact is None or owner is None or not execution.may_read(owner):
        hint = "tools.executor.artifacts.list lists the ones that exist"
        raise ToolError("not_found", f"there is no artifact {artifact_id[:100]!r}", hint=hint)
    if artifact.deleted_at is not None:
        raise_gone(artifact_id)
    try:
        bounds = _bounds(artifact, arguments)
        return artifact, artifacts.content(c, artifact, *bounds) if artifact.object_key is None else None
    except NotFound:
        return artifact, None


def _bounds(artifact: Artifact, arguments: dict[str, Any]) -> tuple[int, int]:
    return _span(artifact, arguments) if artifact.form == "file" else (0, artifact.size)


def _span(artifact: Artifact, arguments: dict[str, Any]) -> tuple[int, int]:
    """Which bytes of a file are wanted: of a large one not all can be."""
    start = min(_count(arguments, "offset", 0), artifact.size)
    end = min(artifact.size, start + _count(arguments, "limit", FARTHEST))
    if end - start > FILE_PAGE:
        message = (
            f"{artifact.id} is a file of {artifact.size:,} bytes; {end - start:,} bytes are too many to read at once"
        )
        hint = f"pass `offset` and a `limit` of at most {FILE_PAGE:,}, or pass the file on as {{artifact: id}}"
        raise ToolError("result_too_large", message, hint=hint)
    return start, end


def _read(artifact: Artifact, content: bytes, arguments: dict[str, Any]) -> str:
    if artifact.form == "file":
        start, end = _span(artifact, arguments)
        part = {"kind": "bytes", "value": base64.b64encode(content).decode(), "total": artifact.size, "offset": start}
        return orjson.dumps({**_about(artifact), **part, "next": end if end < artifact.size else None}).decode()
    value = at_pointer(_value(artifact, content), arguments.get("pointer", ""))
    lines = arguments.get("lines", False)
    page = page_of(value, _count(arguments, "offset", 0), _count(arguments, "limit", FARTHEST), lines=lines)
    view = {"kind": page.kind, "value": page.value, "total": page.total, "offset": page.offset, "next": page.next}
    return orjson.dumps({**_about(artifact), **view}).decode()


def _search(artifact: Artifact, content: bytes, arguments: dict[str, Any]) -> str:
    value = _value(artifact, content)
    if isinstance(value, bytes):
        raise ToolError("invalid_arguments", f"{artifact.id} is a file of {artifact.media_type}", hint="read it")
    most = _count(arguments, "limit", MATCHES)
    found = list(islice(occurrences(value, arguments["query"]), most + 1))
    return orjson.dumps({"id": artifact.id, "matches": found[:most], "more": len(found) > most}).decode()


def _count(arguments: dict[str, Any], name: str, otherwise: int) -> int:
    """JSON Schema takes 1e21 and 20.0 for integers too."""
    return min(int(arguments.get(name, otherwise)), FARTHEST)


def _value(artifact: Artifact, content: bytes) -> Any:
    if artifact.form in ("bytes", "file"):
        return content
    return content.decode() if artifact.form == "text" else orjson.loads(content)


def _about(artifact: Artifact) -> dict[str, Any]:
    return {"id": artifact.id, "mediaType": artifact.media_type, "size": artifact.size}
