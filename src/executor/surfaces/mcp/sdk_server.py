"""The MCP server on the official SDK, for the messages that need it.

Importing this costs about a second of CPU, so anyone who needs it does so late and away from the event loop.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from executor import __version__
from executor.surfaces.mcp.tool_definitions import INSTRUCTIONS, NAME, TOOLS
from executor.surfaces.mcp.tools import SCHEMAS, Gateway, call

# Of the request under way; the SDK asks for them only after the tasks that answer it have begun.
INSTRUCTIONS_NOW: ContextVar[str] = ContextVar("instructions", default=INSTRUCTIONS)


class NamingServer(Server[dict[str, Any]]):
    """Its instructions are those of anyone who asks."""

    @property
    def instructions(self) -> str | None:
        return INSTRUCTIONS_NOW.get()

    @instructions.setter
    def instructions(self, text: str | None) -> None:
        """The SDK sets the same ones for everyone."""


def build_server(gateway: Gateway) -> Server[dict[str, Any]]:
    listed = types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in TOOLS])

    async def on_list_tools(ctx: ServerRequestContext[Any, Any], params: Any) -> types.ListToolsResult:
        return listed

    async def on_call_tool(ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> Any:
        if params.name not in SCHEMAS:
            known = "the tools are execute and resume"
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {params.name[:100]!r}; {known}")
        return await call(gateway, params.name, params.arguments or {}, params.meta or {}, ctx.protocol_version)

    server = NamingServer(
        NAME,
        version=__version__,
        get_tool_input_schema=SCHEMAS.get,
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
    )
    server.middleware.clear()  # spans are not exported from here, and an empty one costs as much as a full one
    return server
