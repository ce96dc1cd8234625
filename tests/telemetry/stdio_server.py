"""Just enough of an MCP server for one tool, over stdio. Each message that it gets is a line of its log."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def serve_stdio(log: Path) -> None:
    tool = {"name": "hear", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    opening = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
    results: dict[str, Any] = {
        "initialize": {**opening, "serverInfo": {"name": "wary", "version": "1"}},
        "tools/list": {"tools": [tool]},
        "tools/call": {"content": [{"type": "text", "text": "heard"}]},
    }
    for line in sys.stdin:
        with log.open("a") as file:
            file.write(line)
        message = json.loads(line)
        if "id" in message:
            known = results.get(message["method"])
            outcome = {"result": known} if known else {"error": {"code": -32601, "message": "unknown"}}
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    serve_stdio(Path(sys.argv[1]))
