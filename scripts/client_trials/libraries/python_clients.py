"""Python libraries as a program would use them. Runs in an environment that has the one it is asked for.

Prints the names of the tools and the instructions, then makes the calls that it reads, one JSON object a line, and
prints the text of each result.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

Server = dict[str, Any]


@dataclass(frozen=True)
class Connected:
    tools: list[str]
    instructions: str
    call: Callable[[str, dict[str, Any]], Awaitable[str]]


def text_in(content: Any) -> str:
    return "\n".join(part.text for part in content if getattr(part, "text", None))


@asynccontextmanager
async def connect_mcp_1(server: Server) -> AsyncIterator[Connected]:
    from mcp import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    if "command" in server:
        opened = stdio_client(StdioServerParameters(**server))
    else:
        # Its name has changed between releases of 1.x.
        module = importlib.import_module("mcp.client.streamable_http")
        opened = module.streamablehttp_client(server["url"], headers=server["headers"])
    async with opened as (read, write, *_), ClientSession(read, write) as session:
        started = await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]

        async def call(name: str, arguments: dict[str, Any]) -> str:
            return text_in((await session.call_tool(name, arguments)).content)

        yield Connected(tools, started.instructions or "", call)


@asynccontextmanager
async def connect_mcp_2(server: Server) -> AsyncIterator[Connected]:
    import httpx2
    from mcp import Client, StdioServerParameters
    from mcp.client.streamable_http import streamable_http_client

    http = httpx2.AsyncClient(headers=server.get("headers"), timeout=120)
    chosen = (
        StdioServerParameters(**server)
        if "command" in server
        else streamable_http_client(server["url"], http_client=http)
    )
    async with http, Client(chosen) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]

        async def call(name: str, arguments: dict[str, Any]) -> str:
            return text_in((await client.call_tool(name, arguments)).content)

        yield Connected(tools, client.instructions or "", call)


def fastmcp_transport(server: Server) -> Any:
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

    if "command" in server:
        return StdioTransport(server["command"], server["args"], keep_alive=False)
    return StreamableHttpTransport(server["url"], headers=server["headers"])


@asynccontextmanager
async def connect_fastmcp(server: Server) -> AsyncIterator[Connected]:
    from fastmcp import Client

    async with Client(fastmcp_transport(server)) as client:
        tools = [tool.name for tool in await client.list_tools()]

        async def call(name: str, arguments: dict[str, Any]) -> str:
            return text_in((await client.call_tool(name, arguments, raise_on_error=False)).content)

        yield Connected(tools, client.instructions or "", call)


@asynccontextmanager
async def connect_pydantic_ai(server: Server) -> AsyncIterator[Connected]:
    from pydantic_ai.mcp import MCPToolset

    async with MCPToolset(fastmcp_transport(server)) as toolset:
        tools = [tool.name for tool in await toolset.list_tools()]

        async def call(name: str, arguments: dict[str, Any]) -> str:
            result = await toolset.direct_call_tool(name, arguments)
            return result if isinstance(result, str) else json.dumps(result, default=str)

        yield Connected(tools, toolset.instructions or "", call)


@asynccontextmanager
async def connect_langchain(server: Server) -> AsyncIterator[Connected]:
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.tools import load_mcp_tools

    transport = "stdio" if "command" in server else "streamable_http"
    client = MultiServerMCPClient({"executor": {"transport": transport, **server}})
    async with client.session("executor") as session:
        loaded = {tool.name: tool for tool in await load_mcp_tools(session)}

        async def call(name: str, arguments: dict[str, Any]) -> str:
            result = await loaded[name].ainvoke(arguments)
            return result if isinstance(result, str) else json.dumps(result, default=str)

        yield Connected(list(loaded), "", call)


CONNECT = {
    "mcp-1": connect_mcp_1,
    "mcp-2": connect_mcp_2,
    "fastmcp": connect_fastmcp,
    "pydantic-ai": connect_pydantic_ai,
    "langchain": connect_langchain,
}


async def main(library: str, server: Server) -> None:
    async with CONNECT[library](server) as connected:
        print(json.dumps({"tools": connected.tools, "instructions": connected.instructions}), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            asked = json.loads(line)
            text = await connected.call(asked["tool"], asked["arguments"])
            print(json.dumps({"text": text}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
