"""An MCP server that needs an API key: in its environment over stdio, as a bearer token over HTTP."""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

server = MCPServer("Secretive", version="1")
READ = ToolAnnotations(read_only_hint=True)


@server.tool(structured_output=False, annotations=READ)
def key() -> str:
    return f"key={os.environ.get('API_KEY', 'none')} argv={' '.join(sys.argv)} names={' '.join(sorted(os.environ))}"


@server.tool(structured_output=False, annotations=READ)
async def session(ctx: Context[Any]) -> str:
    """Another one for each connection."""
    return str(os.getpid())


def main(transport: str) -> None:
    if transport == "stdio":
        server.run("stdio")
        return
    inner = server.streamable_http_app()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not Request(scope).headers.get("authorization"):
            answer: Response = JSONResponse({}, 401, headers={"WWW-Authenticate": 'Bearer realm="x"'})
            return await answer(scope, receive, send)
        if scope["type"] == "http":
            print(Request(scope).headers["authorization"], flush=True)
        return await inner(scope, receive, send)

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(100)
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none")).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1])
