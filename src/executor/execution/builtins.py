"""The tools Executor itself offers. They are called, checked, journalled and governed like any other."""

from __future__ import annotations

from typing import Any

import orjson

from executor.catalog.catalog import Catalog
from executor.catalog.signatures import COMPACT, signature
from executor.catalog.validation import compile_schema, invalid_arguments, problems
from executor.errors import ExecutorError, ToolError
from executor.model.digest import digest
from executor.model.source import Source
from executor.model.tool import Effect, Schema, Tool
from executor.sources.kind import SourceRequest

SOURCE = "builtin"


def _tool(path: str, description: str, effect: Effect, properties: Schema, required: tuple[str, ...] = ()) -> Tool:
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return Tool(path, SOURCE, description, effect, schema, schema_digest=digest([path, schema, effect]))


def _text(description: str) -> Schema:
    return {"type": "string", "minLength": 1, "description": description}


DISCOVER = _tool(
    "discover",
    "Find tools by intent: name the app, the verb and the object, e.g. `github create issue`.",
    "read",
    {
        "query": {"type": "string", "description": "app + verb + object"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        "namespace": _text("only this source's tools"),
        "depth": {"type": "integer", "minimum": 0, "maximum": 2, "description": "0 names, 1 signatures, 2 schemas"},
    },
    ("query",),
)
DESCRIBE = _tool(
    "describe.tool",
    "The signature of one tool, with its schemas on request.",
    "read",
    {"path": _text("the tool's path"), "includeSchemas": {"type": "boolean"}},
    ("path",),
)
LIST_SOURCES = _tool("executor.sources.list", "The connected sources.", "read", {})
ADD_SOURCE = _tool(
    "executor.sources.add",
    "Connect a source by the address of its OpenAPI document. A human must approve it.",
    "write",
    {
        "url": _text("address of the document"),
        "namespace": _text("first segment of its tools' paths"),
        "name": _text("a name for people"),
        "baseUrl": _text("address the calls go to, when the document doesn't say"),
        "kind": _text("openapi"),
    },
    ("url",),
)

BUILTINS: dict[str, Tool] = {tool.path: tool for tool in (DISCOVER, DESCRIBE, LIST_SOURCES, ADD_SOURCE)}


VALIDATORS = {path: compile_schema(tool.input_schema) for path, tool in BUILTINS.items()}


def check(tool: Tool, arguments: dict[str, Any]) -> None:
    found = problems(VALIDATORS[tool.path], arguments, arguments, tool)
    if found:
        raise invalid_arguments(tool, found, signature(tool, {}, budget=COMPACT))


async def invoke(catalog: Catalog, workspace_id: str, tool: Tool, arguments: dict[str, Any], *, approved: bool) -> str:
    try:
        value = await _answer(catalog, workspace_id, tool, arguments, approved)
    except ToolError:
        raise
    except ExecutorError as error:
        raise ToolError(error.code, error.message, hint=error.hint) from error
    return orjson.dumps(value).decode()


async def _answer(catalog: Catalog, workspace_id: str, tool: Tool, arguments: dict[str, Any], approved: bool) -> Any:
    if tool is DISCOVER:
        return await catalog.search(
            workspace_id,
            arguments["query"],
            limit=arguments.get("limit", 10),
            namespace=arguments.get("namespace"),
            depth=arguments.get("depth", 1),
        )
    if tool is DESCRIBE:
        return await catalog.describe(
            workspace_id, arguments["path"], include_schemas=arguments.get("includeSchemas", False)
        )
    if tool is LIST_SOURCES:
        return [summary(source) for source in await catalog.sources(workspace_id)]
    return summary(await catalog.add_source(workspace_id, _request(arguments, approved)))


def _request(arguments: dict[str, Any], approved: bool) -> SourceRequest:
    """Only a human who saw the address may let a source live on a private network."""
    return SourceRequest(
        kind=arguments.get("kind", "openapi"),
        location=arguments["url"],
        namespace=arguments.get("namespace", ""),
        name=arguments.get("name", ""),
        base_url=arguments.get("baseUrl", ""),
        allow_private=approved,
        by_code=True,
    )


def summary(source: Source) -> dict[str, Any]:
    return {
        "id": source.id,
        "kind": source.kind,
        "namespace": source.namespace,
        "name": source.name,
        "status": source.status,
        "toolCount": source.tool_count,
    }
