"""The conformance source: an MCP server, over stdio, with what the suite's fixture tools return. Only tests use it."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Audio, Context, Image, MCPServer
from mcp_types import EmbeddedResource, TextResourceContents, ToolAnnotations
from pydantic import Field

server = MCPServer("Conformance fixtures", version="1.0.0")
READS = ToolAnnotations(read_only_hint=True)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PIXEL = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00"))
    + _chunk(b"IEND", b"")
)
SAMPLES = b"\x80" * 8
SOUND = (
    b"RIFF" + struct.pack("<I", 36 + len(SAMPLES)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
    + b"data" + struct.pack("<I", len(SAMPLES)) + SAMPLES
)  # fmt: skip


def tool(function: Callable[..., Any]) -> Callable[..., Any]:
    return server.tool(annotations=READS, structured_output=False)(function)


@tool
def test_simple_text() -> str:
    return "This is a simple text response for testing."


@tool
def test_image_content() -> Any:
    return Image(data=PIXEL, format="png")


@tool
def test_audio_content() -> Any:
    return Audio(data=SOUND, format="wav")


@tool
def test_embedded_resource() -> Any:
    return embed("test://embedded-resource", "text/plain", "This is an embedded resource content.")


@tool
def test_multiple_content_types() -> Any:
    data = embed("test://mixed-content-resource", "application/json", '{"test": "data", "value": 123}')
    return ["Multiple content types test:", Image(data=PIXEL, format="png"), data]


def embed(uri: str, media_type: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=media_type, text=text))


@tool
def test_error_handling() -> str:
    raise ValueError("This tool intentionally returns an error for testing")


@tool
async def test_tool_with_logging(ctx: Context[Any]) -> str:
    for text in ("started", "processing data", "completed"):
        await ctx.info(f"Tool {text}")
    return "logged"


@tool
def test_x_mcp_header(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    return region


@tool
def greet(name: str) -> str:
    return f"Hello, {name}!"


@tool
async def failing_job() -> str:
    await anyio.sleep(1)
    raise ValueError("it failed")


if __name__ == "__main__":
    server.run("stdio")
