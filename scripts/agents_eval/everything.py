"""An MCP server with the tools that servers for trying things out have: an echo, a sum, an image, and some others."""

from __future__ import annotations

import base64
import zlib
from typing import Any

from agents_eval.service import Reply, Request, Service, route

OTHERS = (
    "get-annotated-message",
    "get-env",
    "get-resource-links",
    "get-resource-reference",
    "get-structured-content",
    "gzip-file-as-resource",
    "toggle-simulated-logging",
    "toggle-subscriber-updates",
    "trigger-long-running-operation",
)


class Everything(Service):
    name = "everything"

    def __init__(self) -> None:
        self.called: list[str] = []

    @route("POST", "/mcp")
    def speak(self, request: Request) -> Reply:
        message = request.body
        if "id" not in message:
            return Reply(None, 202)
        result = getattr(self, message["method"].replace("/", "_"), None)
        if result is None:
            error = {"code": -32601, "message": f"no method {message['method']}"}
            return Reply({"jsonrpc": "2.0", "id": message["id"], "error": error})
        return Reply({"jsonrpc": "2.0", "id": message["id"], "result": result(message.get("params") or {})})

    def initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "everything", "version": "1"},
        }

    def ping(self, params: dict[str, Any]) -> dict[str, Any]:
        return {}

    def tools_list(self, params: dict[str, Any]) -> dict[str, Any]:
        text = {"type": "string", "description": "Message to echo"}
        number = {"type": "number", "description": "A number"}
        tools = [
            tool("echo", "Echoes back the input string", message=text),
            tool("get-sum", "Returns the sum of two numbers", a=number, b=number),
            tool("get-tiny-image", "Returns a tiny image"),
        ]
        return {"tools": [*tools, *(tool(name, name.replace("-", " ").capitalize()) for name in OTHERS)]}

    def tools_call(self, params: dict[str, Any]) -> dict[str, Any]:
        name, given = params["name"], params.get("arguments") or {}
        self.called.append(name)
        if name == "get-tiny-image":
            image = {"type": "image", "data": base64.b64encode(picture()).decode(), "mimeType": "image/png"}
            return {"content": [{"type": "text", "text": "Here's the image you requested:"}, image]}
        said = f"Echo: {given.get('message')}"
        if name == "get-sum":
            said = f"The sum of {given['a']} and {given['b']} is {given['a'] + given['b']}."
        return {"content": [{"type": "text", "text": said}]}


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
    return {"name": name, "description": description, "inputSchema": schema}


def picture(size: int = 48) -> bytes:
    """A PNG whose pixels do not compress, as large as the images that such servers give."""
    rows = b"".join(b"\0" + bytes((x * y * 7 + x * x) % 251 for x in range(size * 3)) for y in range(size))
    header = size.to_bytes(4) * 2 + b"\x08\x02\0\0\0"
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)
