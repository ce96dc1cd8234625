"""The least an MCP server can do, made with the official SDK: `python -m benchmarks.mcp_server stdio|http`."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading

import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("Things", version="1")


@server.tool(structured_output=False)
def read(id: int) -> str:
    return str(id)


def main(transport: str) -> None:
    logging.disable(logging.INFO)
    if transport == "stdio":
        server.run("stdio")
        return
    threading.Thread(target=end_with_parent, daemon=True).start()
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error", ws="none")
    uvicorn.Server(config).run(sockets=[listener])


def end_with_parent() -> None:
    """Its standard input ends when the benchmark does, however that ends."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
