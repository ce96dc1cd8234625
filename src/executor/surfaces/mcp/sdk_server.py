"""The MCP server on the official SDK, for the messages that need it.

Importing this costs about a second of CPU, so anyone who needs it does so late and away from the event loop.
"""

from __future__ import annotations

import warnings
from contextvars import ContextVar
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

from executor import __version__
from executor.errors import NotFound
from executor.surfaces.mcp import resources
from executor.surfaces.mcp.exposed_tools import EXPOSED, list_tools
from executor.surfaces.mcp.handshake import EXTENSIONS, HANDSHAKE_VERSIONS, TASKS, TASKS_VERSION, offer_tasks
from executor.surfaces.mcp.session import SESSION
from executor.surfaces.mcp.streams.call_news import LogLevels
from executor.surfaces.mcp.tool_definitions import INSTRUCTIONS, NAME
from executor.surfaces.mcp.tools import Gateway, call, find_schema

RESOURCE_NOT_FOUND = -32002  # before 2026-07-28
# Of the request under way; the SDK asks for them only after the tasks that answer it have begun.
INSTRUCTIONS_NOW: ContextVar[str] = ContextVar("instructions", default=INSTRUCTIONS)
VERSION_NOW: ContextVar[str] = ContextVar("version", default="")  # that a handshake agrees on


class NamingServer(Server[dict[str, Any]]):
    """Its instructions are those of anyone who asks. It offers tasks, which are answered elsewhere."""

    def get_capabilities(self, *given: Any, **named: Any) -> types.ServerCapabilities:
        found = super().get_capabilities(*given, **named)
        tasks = types.ServerTasksCapability.model_validate(TASKS)
        return found.model_copy(update={"tasks": tasks}) if VERSION_NOW.get() == TASKS_VERSION else found

    @property
    def instructions(self) -> str | None:
        return INSTRUCTIONS_NOW.get()

    @instructions.setter
    def instructions(self, text: str | None) -> None:
        """The SDK sets the same ones for everyone."""


def build_server(gateway: Gateway, levels: LogLevels) -> Server[dict[str, Any]]:
    async def on_list_tools(ctx: ServerRequestContext[Any, Any], params: Any) -> types.ListToolsResult:
        tools = offer_tasks(list_tools(), ctx.protocol_version)
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in tools])

    async def on_call_tool(ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> Any:
        if find_schema(params.name) is None:
            known = "see tools/list" if EXPOSED.get() else "the tools are execute and resume"
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {params.name[:100]!r}; {known}")
        return await call(gateway, params.name, params.arguments or {}, params.meta or {}, ctx.protocol_version)

    async def on_list_resources(ctx: ServerRequestContext[Any, Any], params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult.model_validate({"resources": await resources.list_resources(gateway)})

    async def on_list_templates(ctx: ServerRequestContext[Any, Any], params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": resources.list_templates()})

    async def on_read(ctx: ServerRequestContext[Any, Any], params: Any) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            return types.ReadResourceResult.model_validate({"contents": await resources.read(gateway, uri)})
        except NotFound as error:
            is_modern = ctx.protocol_version not in HANDSHAKE_VERSIONS
            code = types.INVALID_PARAMS if is_modern else RESOURCE_NOT_FOUND
            raise MCPError(code, f"{error.message}; {error.hint}", {"uri": uri}) from error

    async def on_list_prompts(ctx: ServerRequestContext[Any, Any], params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult.model_validate({"prompts": resources.list_prompts()})

    async def on_get_prompt(ctx: ServerRequestContext[Any, Any], params: Any) -> types.GetPromptResult:
        try:
            return types.GetPromptResult.model_validate(resources.get_prompt(params.name, params.arguments or {}))
        except NotFound as error:
            raise MCPError(types.INVALID_PARAMS, f"{error.message}; {error.hint}") from error

    async def on_completion(ctx: ServerRequestContext[Any, Any], params: Any) -> types.CompleteResult:
        values = await resources.complete(gateway, params.argument.name, params.argument.value)
        return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))

    async def on_set_level(ctx: ServerRequestContext[Any, Any], params: Any) -> types.EmptyResult:
        levels.set(SESSION.get(), params.level)
        return types.EmptyResult()

    with warnings.catch_warnings():  # logging is on its way out, and clients of older revisions still use it
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        server = NamingServer(
            NAME,
            version=__version__,
            get_tool_input_schema=find_schema,
            on_list_tools=on_list_tools,
            on_call_tool=on_call_tool,
            on_list_resources=on_list_resources,
            on_list_resource_templates=on_list_templates,
            on_read_resource=on_read,
            on_list_prompts=on_list_prompts,
            on_get_prompt=on_get_prompt,
            on_completion=on_completion,
            on_set_logging_level=on_set_level,
        )
    server.extensions = EXTENSIONS
    server.middleware.clear()  # spans are not exported from here, and an empty one costs as much as a full one
    return server
