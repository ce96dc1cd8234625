"""The MCP server on the official SDK: two tools, the same over HTTP and over stdio.

Importing this costs about a second of CPU, so whoever needs it does so late and away from the event loop.
"""

from __future__ import annotations

import logging
import secrets
from typing import Any, Protocol

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from executor import __version__
from executor.errors import ExecutorError, InvalidRequest
from executor.surfaces.mcp.answer import result_of, result_of_error
from executor.surfaces.mcp.offer import INSTRUCTIONS, TOOLS
from executor.surfaces.views import View

logger = logging.getLogger(__name__)
_SCHEMAS: dict[str, dict[str, Any]] = {tool["name"]: tool["inputSchema"] for tool in TOOLS}


class Gateway(Protocol):
    """Where executions happen: in this process, or in the daemon behind `/v1`."""

    async def execute(self, code: str, language: str) -> View: ...

    async def resume(self, execution_id: str) -> View: ...


def build_server(gateway: Gateway) -> Server[dict[str, Any]]:
    listed = types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in TOOLS])

    async def on_list_tools(ctx: ServerRequestContext[Any, Any], params: Any) -> types.ListToolsResult:
        return listed

    async def on_call_tool(ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> Any:
        return await call(gateway, params.name, params.arguments or {})

    server: Server[dict[str, Any]] = Server(
        "executor",
        version=__version__,
        instructions=INSTRUCTIONS,
        get_tool_input_schema=_SCHEMAS.get,
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
    )
    server.middleware.clear()  # spans are not exported from here, and an empty one costs as much as a full one
    return server


async def call(gateway: Gateway, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What goes wrong on purpose is a tool result the model can act on; the rest is an id that the log explains."""
    schema = _SCHEMAS.get(name)
    if schema is None:
        raise MCPError(types.INVALID_PARAMS, f"unknown tool {name[:100]!r}; there are execute and resume")
    try:
        checked = _checked(arguments, schema)
        if name == "execute":
            return result_of(await gateway.execute(checked["code"], checked.get("language", "typescript")))
        return result_of(await gateway.resume(checked["executionId"]))
    except ExecutorError as error:
        return result_of_error(error)
    except Exception as error:  # the edge: answered with an opaque id, logged with everything
        incident = secrets.token_hex(8)
        logger.error("unexpected error %s", incident, exc_info=error)
        hint = "the daemon's log has the details under this id"
        return result_of_error(ExecutorError(f"something went wrong here (incident {incident})", hint=hint))


def _checked(arguments: dict[str, Any], schema: dict[str, Any]) -> dict[str, str]:
    expected = ", ".join(schema["properties"])
    for key, value in arguments.items():
        if key not in schema["properties"]:
            raise InvalidRequest(f"unknown argument {key[:100]!r}", hint=f"the arguments are {expected}")
        if not isinstance(value, str):
            raise InvalidRequest(f"`{key}` must be a string", hint=f"the arguments are {expected}")
    for key in schema["required"]:
        if key not in arguments:
            raise InvalidRequest(f"`{key}` is missing", hint=f"the arguments are {expected}")
    return arguments
