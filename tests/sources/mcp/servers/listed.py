"""A server over standard input and output whose tools stand in a file: `python listed.py tools.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method = message["method"]
    if method == "initialize":
        result = {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "listed", "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": json.loads(Path(sys.argv[1]).read_text())}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": f"did {message['params']['name']}"}]}
    else:
        print(
            json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}), flush=True
        )
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
