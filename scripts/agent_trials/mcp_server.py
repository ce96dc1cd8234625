"""A server of MCP over HTTP with one tool, that only answers the session's own token."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "session-scoped"  # noqa: S105 - made up
TOOL = {
    "name": "execute",
    "description": "Run code.",
    "inputSchema": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
}


class Handler(BaseHTTPRequestHandler):
    calls: list[str]

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._send(401, {"error": "the token is wrong"})
        elif "id" not in message:
            self._send(202, None)
        else:
            self.calls.append(message["method"])
            self._send(200, {"jsonrpc": "2.0", "id": message["id"], "result": self._result(message)})

    def do_GET(self) -> None:
        self._send(405, None)

    do_DELETE = do_GET  # noqa: N815 - the library's names

    def _result(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["method"] == "initialize":
            version = message["params"].get("protocolVersion", "2025-06-18")
            return {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "executor", "version": "1"},
            }
        if message["method"] == "tools/list":
            return {"tools": [TOOL]}
        if message["method"] == "tools/call":
            return {"content": [{"type": "text", "text": "MCP-SAYS-42"}]}
        return {}

    def _send(self, status: int, body: dict[str, Any] | None) -> None:
        data = json.dumps(body).encode() if body is not None else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None: ...


@contextmanager
def serving() -> Iterator[tuple[str, list[str]]]:
    calls: list[str] = []
    handler = type("CountingHandler", (Handler,), {"calls": calls})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp", calls
        server.shutdown()
