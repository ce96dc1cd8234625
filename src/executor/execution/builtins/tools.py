"""The tools Executor itself offers. They are called, checked, journalled and governed like any other."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson

from executor.catalog import description
from executor.catalog.catalog import Catalog
from executor.catalog.signatures.signature import COMPACT, signature
from executor.connections.new_connection import Offer, pinned_origin
from executor.connections.resolution import missing_to_read
from executor.errors import ExecutorError, InvalidRequest, StorageError, ToolError
from executor.execution.artifacts import tools
from executor.execution.builtins import declaration
from executor.execution.builtins.declaration import own_tool, text
from executor.execution.builtins.source_arguments import (
    PATH,
    PROPERTIES,
    asked_source,
    check_arguments,
    offered_connection,
)
from executor.execution.calls.credential import CredentialMissing
from executor.model.identity.permissions import Permission
from executor.model.language import Language
from executor.model.source import Source
from executor.model.tool import Tool
from executor.policy.visibility import Visibility
from executor.schemas.validation import Validator, compile_schema, invalid_arguments, problems
from executor.sources.lifecycle.consent import is_for_strangers, refusal_of_strangers, runs_here
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.executions.events import By

if TYPE_CHECKING:
    from executor.sources.lifecycle.persistence import OnInsert

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
    PATH,
    "Connect a source: an API, GraphQL or MCP server by its address, or the command of an MCP server. "
    "A human must approve it.",
    "write",
    PROPERTIES,
    needs=("administer",),
)

BUILTINS: dict[str, Tool] = {tool.path: tool for tool in (DISCOVER, DESCRIBE, LIST_SOURCES, ADD_SOURCE, *tools.TOOLS)}


@cache
def validator_of(path: str) -> Validator:
    return compile_schema(BUILTINS[path].input_schema)


def check(tool: Tool, arguments: dict[str, Any], language: Language = "typescript") -> None:
    found = problems(validator_of(tool.path), arguments, arguments, tool)
    if found:
        raise invalid_arguments(tool, found, signature(tool, {}, budget=COMPACT, language=language))
    if tool is ADD_SOURCE:
        try:
            check_arguments(arguments)
        except InvalidRequest as error:
            raise ToolError("invalid_arguments", error.message, hint=error.hint) from error


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
    strangers: OnInsert | None = None,
) -> str:
    """What `visibility` hides is neither found nor named. `language` is that of the program. `strangers` is given in an
    anonymous workspace, and raises if there is no room for one more source."""
    try:
        if tool is ADD_SOURCE:
            is_public = strangers is not None
            request, offer = _request(arguments, approved, is_public=is_public), _offer(arguments, approved)
            warnings: list[str] = []
            request = replace(request, context=replace(request.context, warn=warnings.append))
            source = await catalog.add_source(workspace_id, request, by=by, offer=offer, on_insert=strangers)
            if source.known_keys.get("unread"):
                raise _credential_missing(source, approved)
            value: Any = summary(source) | ({"warning": "; ".join(warnings)} if warnings else {})
        else:
            value = await _answer(catalog, workspace_id, tool, {"language": language, **arguments}, visibility)
    except (ToolError, StorageError):
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
        return description.of_builtin(BUILTINS[path], validator_of(path), "executor", wish)
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


def _request(arguments: dict[str, Any], approved: bool, *, is_public: bool) -> SourceRequest:
    """Only a human who saw the address or the command may let it be on a private network, or be run here.

    `is_public`: that human is a stranger, who may not.
    """
    request = asked_source(arguments)
    if is_public:
        if not approved or offered_connection(arguments) is not None:
            raise refusal_of_strangers()
        return replace(request, consented=Consent(by_code=True, by_stranger=True))
    by_operator = approved and runs_here(request)  # then no one else could approve it, see `needed`
    consent = Consent(private_network=approved, runs_code=approved, by_operator=by_operator, by_code=True)
    return replace(request, consented=consent)


def _offer(arguments: dict[str, Any], approved: bool) -> Offer | None:
    """Only a human who saw which secrets are sent, and where, may let them be sent."""
    offer = offered_connection(arguments)
    if offer is not None and not approved:
        raise ToolError(
            "consent_required",
            "a source with `headers` or `auth` needs a human to approve the call",
            hint="leave them out, or remove the policy that allows this call without asking",
        )
    return offer


def _credential_missing(source: Source, approved: bool) -> ToolError:
    """It is connected, and a human has to give a credential before it can be read: only then the call continues."""
    missing = missing_to_read(source, pinned_origin(source))
    if missing.ways:
        return CredentialMissing(missing, approved=approved)
    what = ", ".join(str(one.get("name", "")) for one in source.known_keys.get("auth") or ())
    return ToolError(
        "credential_required",
        f"{source.namespace} is connected, but can't be read: {source.error}",
        hint=f"it accepts only {what}, which Executor can't send",
    )


def needed_permissions(tool: Tool, arguments: dict[str, Any], *, anonymous: bool = False) -> tuple[Permission, ...]:
    """What someone who lets this call happen must be allowed to do themselves. In an `anonymous` workspace, connecting
    a public service needs less."""
    if tool is not ADD_SOURCE:
        return tool.needs
    request = asked_source(arguments)
    if anonymous and is_for_strangers(request) and not runs_here(request) and offered_connection(arguments) is None:
        return ("extend",)
    return (*tool.needs, "operate") if runs_here(request) else tool.needs


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
