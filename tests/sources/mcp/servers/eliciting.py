"""A server that asks people during calls. `python eliciting.py stdio|http|sse`; over HTTP it prints its port first."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types import ElicitRequestURLParams, SamplingMessage, TextContent

BOOKING: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2, "maxLength": 40},
        "email": {"type": "string", "format": "email", "description": "Where the ticket goes"},
        "seats": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
        "price": {"type": "number", "maximum": 99.5},
        "window": {"type": "boolean", "title": "A seat at the window?", "default": True},
        "meal": {"type": "string", "oneOf": [{"const": "v", "title": "Vegetarian"}, {"const": "f", "title": "Fish"}]},
        "class": {"type": "string", "enum": ["first", "second"], "enumNames": ["First class", "Second class"]},
        "days": {"type": "array", "items": {"anyOf": [{"const": "sat", "title": "Saturday"},
                 {"const": "sun", "title": "Sunday"}]}, "minItems": 1},
    },
    "required": ["name", "seats"],
}  # fmt: skip
SHORT: dict[str, Any] = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}

server = MCPServer("Eliciting example server", version="1.0.0")
visited: set[int] = set()


async def ask(ctx: Context[Any], message: str, schema: dict[str, Any]) -> str:
    try:
        result = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    except MCPError as error:
        return f"refused: {error.error.message}"
    return f"{result.action}: {result.content}" if result.content is not None else result.action


@server.tool(structured_output=False)
async def book(ctx: Context[Any], record: str = "", message: str = "Who travels?") -> str:
    """Books a journey. Writes to `record` once it knows for whom."""
    answer = await ask(ctx, message, BOOKING)
    if record and answer.startswith("accept"):
        Path(record).write_text(answer)  # noqa: ASYNC240 - one short line
    return answer


@server.tool(structured_output=False)
async def steps(ctx: Context[Any], count: int) -> list[str]:
    """Asks one thing after the other."""
    return [await ask(ctx, f"step {number}", SHORT) for number in range(1, count + 1)]


@server.tool(structured_output=False)
async def together(ctx: Context[Any], count: int) -> list[str]:
    """Asks several things at once."""
    answers: dict[int, str] = {}

    async def one(number: int) -> None:
        answers[number] = await ask(ctx, f"part {number}", SHORT)

    async with anyio.create_task_group() as group:
        for number in range(count):
            group.start_soon(one, number)
    return [answers[number] for number in range(count)]


@server.tool(structured_output=False)
async def raw(ctx: Context[Any], schema: dict[str, Any], message: str = "fill this in") -> str:
    return await ask(ctx, message, schema)


@server.tool(structured_output=False)
async def visit(ctx: Context[Any], url: str) -> str:
    try:
        result = await ctx.session.elicit_url("Please log in", url, "el-1", related_request_id=ctx.request_id)
    except MCPError as error:
        return f"refused: {error.error.message}"
    return result.action


@server.tool(structured_output=False)
async def gated(ctx: Context[Any], number: int) -> str:
    """Wants a page to be visited before it does anything."""
    if number not in visited:
        visited.add(number)
        page = ElicitRequestURLParams(message="Pay first", url="https://pay.example/now?n=1", elicitation_id="el-2")
        raise UrlElicitationRequiredError([page])
    return "done"


@server.tool(structured_output=False)
async def sample(ctx: Context[Any]) -> str:
    try:
        said = SamplingMessage(role="user", content=TextContent(type="text", text="think"))
        await ctx.session.create_message([said], max_tokens=5, related_request_id=ctx.request_id)
    except MCPError as error:
        return f"refused: {error.error.message}"
    return "sampled"


@server.tool(structured_output=False)
async def chat(ctx: Context[Any], lines: int = 1) -> str:
    await ctx.report_progress(3, 10, "a third")
    for number in range(lines):
        await ctx.session.send_log_message(
            "warning", f"line {number}\x1b[31m", logger="engine", related_request_id=ctx.request_id
        )
    return "said"


@server.tool(structured_output=False)
async def die(ctx: Context[Any], when: str) -> str:
    """Asks, and ends the whole server when a file appears."""

    async def watch() -> None:
        while not os.path.exists(when):  # noqa: ASYNC110, ASYNC240, PTH110 - another process makes it
            await anyio.sleep(0.02)
        os._exit(3)

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        return await ask(ctx, "still there?", SHORT)


def main(transport: str) -> None:
    if transport == "stdio":
        server.run("stdio")
        return
    app = server.streamable_http_app() if transport == "http" else server.sse_app()
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(100)
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none")).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1])
