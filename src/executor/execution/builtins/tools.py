"""The tools Executor itself offers. They are called, checked, journalled and governed like any other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from executor.catalog import description
from executor.catalog.catalog import Catalog
from executor.catalog.signatures.signature import COMPACT, signature
from executor.errors import ExecutorError, ToolError
from executor.execution.artifacts import tools
from executor.execution.builtins import declaration
from executor.execution.builtins.declaration import own_tool, text
from executor.model.identity.permissions import Permission
from executor.model.language import Language
from executor.model.source import Source
from executor.model.tool import Tool
from executor.policy.visibility import Visibility
from executor.schemas.validation import compile_schema, invalid_arguments, problems
from executor.sources.lifecycle.consent import runs_here
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.executions.events import By

SOURCE = declaration.SOURCE

DISCOVER = own_tool(
    "discover",
    "Find tools by intent: name the app, the verb and the object, e.g. `github create issue`.",
    "read",
    {
        "query": {"type": "string", "description": "app + verb + object; leave out to browse"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "default: 10"},
        "namespace": text("only tools whose path starts with this, such as github or github.issues"),
        "source": text("only this source's tools"),
        "effect": {"enum": ["read", "write", "destructive"]},
        "depth": {
            "type": "integer",
            "minimum": 0,
            "maximum": 2,
            "description": "0 names, 1 signatures, 2 schemas; default: signatures of the first three",
        },
        "explain": {"type": "boolean", "description": "also return each score and which words matched where"},
    },
)
DESCRIBE = own_tool(
    "describe.tool",
    "Get a tool's signature and an example call, within a token budget.",
    "read",
    {
        "path": text("the tool's path"),
        "includeSchemas": {"type": "boolean", "description": "also return the JSON Schemas, whatever their size"},
        "language": {"enum": ["typescript", "python"], "description": "default: the language of the program"},
        "budget": {"type": "integer", "minimum": 150, "maximum": 20_000, "description": "in tokens; default: 1500"},
        "part": {
            "enum": ["arguments", "result", "description"],
            "description": ("spend the whole budget on this part"),
        },
        "types": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": 30,
            "description": "type names listed under `cut`",
        },
    },
    ("path",),
)
LIST_SOURCES = own_tool("executor.sources.list", "List the connected sources.", "read", {})
ADD_SOURCE = own_tool(
    "executor.sources.add",
    "Connect a source: an API, GraphQL or MCP server by its address, or the command of an MCP server. "
    "A human must approve it.",
    "write",
    {
        "url": text("address of a document, page or endpoint, or the name of a template such as `github`"),
        "command": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": 200,
            "description": "command line of an MCP server to run on this machine, instead of a url",
        },
        "namespace": text("first segment of its tools' paths; the human who approves it sees which policies cover it"),
        "name": text("display name"),
        "baseUrl": text("address the calls go to, when the document doesn't say"),
        "specUrl": text("address of the document, when the url is that of the service"),
        "kind": text("openapi, graphql, mcp …; default: detected from the address"),
    },
    ("namespace",),
    needs=("administer",),
)

BUILTINS: dict[str, Tool] = {tool.path: tool for tool in (DISCOVER, DESCRIBE, LIST_SOURCES, ADD_SOURCE, *tools.TOOLS)}


VALIDATORS = {path: compile_schema(tool.input_schema) for path, tool in BUILTINS.items()}


def check(tool: Tool, arguments: dict[str, Any], language: Language = "typescript") -> None:
    found = problems(VALIDATORS[tool.path], arguments, arguments, tool)
    if found:
        raise invalid_arguments(tool, found, signature(tool, {}, budget=COMPACT, language=language))


async def invoke(
    catalog: Catalog,
    workspace_id: str,
    tool: Tool,
    arguments: dict[str, Any],
    *,
    approved: bool,
    visibility: Visibility | None = None,
    by: By = None,
    language: Language = "typescript",
) -> str:
    """What `visibility` hides is neither found nor named. `language` is that of the program."""
    try:
        if tool is ADD_SOURCE:
            value: Any = summary(await catalog.add_source(workspace_id, _request(arguments, approved), by=by))
        else:
            value = await _answer(catalog, workspace_id, tool, {"language": language, **arguments}, visibility)
    except ToolError:
        raise
    except ExecutorError as error:
        raise ToolError(error.code, error.message, hint=error.hint) from error
    return orjson.dumps(value).decode()


async def _answer(
    catalog: Catalog, workspace_id: str, tool: Tool, arguments: dict[str, Any], visibility: Visibility | None
) -> Any:
    if tool is DISCOVER:
        return await catalog.search(
            workspace_id,
            arguments.get("query", ""),
            limit=arguments.get("limit", 10),
            namespace=arguments.get("namespace"),
            source=arguments.get("source"),
            effect=arguments.get("effect"),
            depth=arguments.get("depth"),
            language=arguments["language"],
            visibility=visibility,
            brief=True,
            explain=arguments.get("explain", False),
        )
    if tool is DESCRIBE:
        return await _describe(catalog, workspace_id, arguments, visibility)
    return [summary(source) for source in await catalog.sources(workspace_id)]


async def _describe(
    catalog: Catalog, workspace_id: str, arguments: dict[str, Any], visibility: Visibility | None
) -> dict[str, Any]:
    path, types = arguments["path"], tuple(arguments.get("types", ()))
    schemas, language = arguments.get("includeSchemas", False), arguments["language"]
    budget, part = arguments.get("budget", description.BUDGET), arguments.get("part", "")
    if path in BUILTINS and not (visibility is not None and visibility.hides(path, BUILTINS[path].effect)):
        wish = description.Wish(language, budget, part, types, schemas)
        return description.of_builtin(BUILTINS[path], VALIDATORS[path], "executor", wish)
    return await catalog.describe(
        workspace_id,
        path,
        include_schemas=schemas,
        language=language,
        budget=budget,
        part=part,
        types=types,
        visibility=visibility,
    )


def _request(arguments: dict[str, Any], approved: bool) -> SourceRequest:
    """Only a human who saw the address or the command may let it be on a private network, or be run here."""
    if ("url" in arguments) == ("command" in arguments):
        raise ToolError(
            "invalid_arguments", "a source needs either a url or a command", hint="pass exactly one of them"
        )
    request = asked_source(arguments)
    by_operator = approved and runs_here(request)  # then no one else could approve it, see `needed`
    consent = Consent(private_network=approved, runs_code=approved, by_operator=by_operator, by_code=True)
    return replace(request, consented=consent)


def asked_source(arguments: dict[str, Any]) -> SourceRequest:
    return SourceRequest(
        kind=arguments.get("kind", ""),
        location=arguments.get("url", ""),
        command=tuple(arguments.get("command", ())),
        namespace=arguments.get("namespace", ""),
        name=arguments.get("name", ""),
        base_url=arguments.get("baseUrl", ""),
        spec_url=arguments.get("specUrl", ""),
        consented=Consent(by_code=True),
    )


def needed_permissions(tool: Tool, arguments: dict[str, Any]) -> tuple[Permission, ...]:
    """What someone who lets this call happen must be allowed to do themselves."""
    runs = tool is ADD_SOURCE and runs_here(asked_source(arguments))
    return (*tool.needs, "operate") if runs else tool.needs


def summary(source: Source) -> dict[str, Any]:
    return {
        "id": source.id,
        "kind": source.kind,
        "namespace": source.namespace,
        "name": source.name,
        "status": source.status,
        "toolCount": source.tool_count,
        "skipped": len(source.skipped),
        "auth": [str(one.get("name", "")) for one in source.known_keys.get("auth") or ()],
    }
