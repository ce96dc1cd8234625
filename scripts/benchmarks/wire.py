"""A minimal MCP client over streamable HTTP, one kept-alive connection each, the same for every subject.

It speaks plain JSON-RPC through the standard library, so that the client's own cost is small and equal on both sides.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

PROTOCOL = "2025-11-25"
IDLE_SECONDS = 4.0


class WireError(RuntimeError):
    """The other side answered with something the benchmark does not expect."""


class Http:
    """JSON over one kept-alive loopback connection."""

    def __init__(self, base_url: str, headers: Mapping[str, str], *, timeout: float = 300) -> None:
        parts = urlsplit(base_url)
        if parts.hostname not in ("127.0.0.1", "localhost"):
            raise WireError(f"{base_url} is not on loopback")
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
        self.headers = dict(headers)
        self.used = 0.0

    def request(self, method: str, path: str, body: Any = None) -> tuple[http.client.HTTPResponse, bytes]:
        payload = None if body is None else json.dumps(body).encode()
        if time.monotonic() - self.used > IDLE_SECONDS:
            self.connection.close()  # the other side may have closed it meanwhile; the next request opens it again
        self.used = time.monotonic()
        self.connection.request(method, path, payload, self.headers | {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        return response, response.read()

    def json(self, method: str, path: str, body: Any = None) -> Any:
        response, content = self.request(method, path, body)
        if response.status >= 400:
            raise WireError(f"{method} {path} answered {response.status}: {content.decode(errors='replace')[:2000]}")
        return json.loads(content)

    def close(self) -> None:
        self.connection.close()


class Mcp:
    def __init__(self, base_url: str, headers: Mapping[str, str]) -> None:
        self.http = Http(base_url, {**headers, "Accept": "application/json, text/event-stream"})
        self.number = 0
        about = {"name": "executor-bench", "version": "1"}
        response, content = self.send(
            "initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": about}
        )
        chosen = decode(response, content)["protocolVersion"]
        self.http.headers["MCP-Protocol-Version"] = chosen
        if session := response.getheader("mcp-session-id"):
            self.http.headers["Mcp-Session-Id"] = session
        self.http.request("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, method: str, parameters: Mapping[str, Any]) -> tuple[http.client.HTTPResponse, bytes]:
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": parameters}
        return self.http.request("POST", "/mcp", message)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return decode(*self.send("tools/call", {"name": tool, "arguments": arguments}))

    def close(self) -> None:
        self.http.close()


def decode(response: http.client.HTTPResponse, content: bytes) -> dict[str, Any]:
    """The JSON-RPC result, sent as JSON or as the last event of a stream."""
    if response.status != 200:
        raise WireError(f"MCP answered {response.status}: {content.decode(errors='replace')[:2000]}")
    if (response.getheader("content-type") or "").startswith("text/event-stream"):
        content = [line[5:] for line in content.splitlines() if line.startswith(b"data:") and len(line) > 6][-1]
    message = json.loads(content)
    if "result" not in message:
        raise WireError(f"MCP answered an error: {message}")
    result: dict[str, Any] = message["result"]
    return result


def text(result: Mapping[str, Any]) -> str:
    return "".join(part.get("text", "") for part in result.get("content", ()))


def value_of(result: Mapping[str, Any]) -> Any:
    """What the code returned: the peer has it as data, Executor as JSON on the first line of the text."""
    if outcome := result.get("structuredContent"):
        return outcome.get("result") if outcome.get("status") == "completed" else None
    try:
        return json.loads(text(result).partition("\n")[0])
    except ValueError as error:
        raise WireError(f"expected a value, got {text(result)[:500]}") from error
