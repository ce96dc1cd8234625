"""A server made with the Python SDK. `python real.py stdio|http|sse`; over HTTP it prints its port first."""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel


class Address(BaseModel):
    street: str
    city: str


class Person(BaseModel):
    name: str
    home: Address
    friends: list[Person] = []


server = MCPServer("Real example server", version="1.2.3")
sessions: dict[int, int] = {}


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(structured_output=False)
def greet(name: str) -> str:
    return f"hello {name}"


@server.tool()
def introduce(person: Person) -> Person:
    return person


@server.tool(structured_output=False)
def picture() -> list[Any]:
    return ["look", Image(data=b"\x89PNG", format="png")]


@server.tool()
def fail(reason: str) -> str:
    raise ValueError(reason)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def peek() -> str:
    return "seen"


@server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True))
def append() -> str:
    return "done"


@server.tool(structured_output=False)
async def count(ctx: Context[Any]) -> str:
    """How often this session has called it."""
    key = id(ctx.session._connection) if hasattr(ctx.session, "_connection") else id(ctx.session)
    sessions[key] = sessions.get(key, 0) + 1
    return str(sessions[key])


@server.tool(structured_output=False)
def big(size: int) -> str:
    return "x" * size


@server.tool(structured_output=False)
def environment() -> str:
    return "\n".join(sorted(os.environ))


@server.tool(structured_output=False)
async def ask(ctx: Context[Any]) -> str:
    try:
        answer = await ctx.elicit("who are you?", Address)
    except Exception as error:  # noqa: BLE001 - whatever the client answers
        return f"declined: {error}"
    return str(answer)


@server.tool(structured_output=False)
async def change(ctx: Context[Any]) -> str:
    """Removes `greet`, adds `wave`, and says so."""
    server.remove_tool("greet")
    server.add_tool(lambda: "waving", name="wave", structured_output=False)
    await ctx.session.send_tool_list_changed()
    return "changed"


@server.tool(structured_output=False)
async def work(ctx: Context[Any], until: str) -> str:
    """Reports progress until a file is there."""
    step = 0
    while not os.path.exists(until):  # noqa: ASYNC240, PTH110 - another process makes it
        step += 1
        await ctx.report_progress(step, None, "at work")
        await anyio.sleep(0.05)
    return "done"


@server.tool()
def listed(count: int) -> list[Address]:
    return [Address(street="s", city="c")] * count


@server.tool(structured_output=False)
def crash() -> str:
    os._exit(3)


def main(transport: str) -> None:
    if transport == "stdio":
        server.run("stdio")
        return
    app = server.streamable_http_app() if transport == "http" else server.sse_app()
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0))
    listener.listen(100)
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none")).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1])
