"""A server of the standard library only, that does what servers should not. `python hostile.py MODE …`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

MODE = sys.argv[1]
PLAIN = {"type": "object", "properties": {}}
UGLY = ["__proto__", "constructor", "then", "a.b/c-d", "a_b_c_d", "naïve", "\u0430dmin", "admin", "…", "x" * 300, "1st",
        "class", "Twin", "twin"]  # fmt: skip


def tool(name: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": PLAIN, **more}


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def listing(params: dict[str, Any]) -> dict[str, Any]:
    start = int(params.get("cursor", 0))
    if MODE == "paged":
        page = [tool(f"tool_{number}") for number in range(start, start + 50)]
        return {"tools": page, **({"nextCursor": str(start + 50)} if start < 950 else {})}
    if MODE == "endless":
        return {"tools": [tool(f"tool_{start}")], "nextCursor": str(start + 1) if start < 5 else "3"}
    if MODE == "ugly":
        return {"tools": [tool(name) for name in UGLY]}
    if MODE == "broken":
        return {"tools": [tool("good"), tool("good"), {"name": "schemaless"}, "text", tool(""), tool(7), task_only()]}
    if MODE == "schemas":
        return {"tools": schema_tools()}
    if MODE == "none":
        return {"tools": []}
    return {"tools": [tool(name) for name in ("work", "crash", "hang", "huge", "pid", "odd", "structured", "mark")]}


def task_only() -> dict[str, Any]:
    return tool("slow", execution={"taskSupport": "required"})


def schema_tools() -> list[dict[str, Any]]:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    return [
        {"name": "one", "inputSchema": {"$ref": "#/$defs/Node", "$defs": {"Node": node}}},
        {"name": "two", "inputSchema": {"type": "object", "properties": {"n": {"$ref": "#/definitions/Node"}},
                                        "definitions": {"Node": {"type": "integer"}}}},
        {"name": "three", "inputSchema": {"type": "object", "properties": {
            "a": {"type": "string", "pattern": "x"}, "b": {"$ref": "#/properties/a"},
            "c": {"$ref": "https://example.com/elsewhere.json"}, "d": {"type": "weird", "required": True},
            "e": {"type": "number", "minimum": 1, "exclusiveMinimum": True}, "f": {"const": 10**30}}}},
        {"name": "four", "inputSchema": {"properties": {"again": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}},
         "outputSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}},
    ]  # fmt: skip


def answer_call(params: dict[str, Any]) -> dict[str, Any] | None:
    name = params["name"]
    if name == "crash":
        os._exit(3)
    if name == "mark":  # the effect takes place, the answer never comes
        with open(sys.argv[2], "a") as file:  # noqa: PTH123 - standard library only, as short as can be
            file.write("done\n")
        os._exit(3)
    if name == "hang":
        return None
    if name == "huge":
        sys.stdout.write('{"jsonrpc": "2.0", "id": 99, "result": "')
        for _ in range(100):
            sys.stdout.write("x" * 1_000_000)
        return None
    if name == "pid":
        return text(str(os.getpid()))
    if name == "odd":
        return {"content": [{"type": "new_kind", "value": 10**30}, {"type": "resource", "resource": {
            "uri": "memo://1", "mimeType": "text/plain", "blob": "aGk="}},
            {"type": "resource_link", "uri": "memo://2", "name": "two"}]}  # fmt: skip
    if name == "structured":
        return {"content": [], "structuredContent": {"n": 10**30, "half": "\ud800"}}
    if params["arguments"].get("asks"):
        if "inputResponses" in params:
            return text(json.dumps([params["inputResponses"], params["requestState"]]))
        method, schema = params["arguments"]["asks"], {"type": "object", "properties": {"word": {"type": "string"}}}
        asked = {"method": method, "params": {"mode": "form", "message": "a word?", "requestedSchema": schema}}
        return {"resultType": "input_required", "inputRequests": {"first": asked}, "requestState": "état"}
    if name == "four":
        return text(params["arguments"]["says"])
    return text("done " + json.dumps(params["arguments"]))


def main() -> None:
    print("an agent's log line on standard output", flush=True)
    print("a complaint \x1b[31m in red", file=sys.stderr, flush=True)
    if MODE == "family":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        print(child.pid, file=sys.stderr, flush=True)
    if MODE == "refuses":
        sys.exit("no licence")
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method")
        if MODE == "noise":
            print("{not json}\n\n[1, 2]\n\x00\xff" * 50, flush=True)
        if MODE == "flood":
            while True:
                print("noise", flush=True)
        if MODE == "mute" or "id" not in message:
            continue
        if MODE == "newest" and method == "initialize":
            error = {"code": -32022, "message": "too old", "data": {"supported": ["2026-07-28"], "requested": "x"}}
            say({"jsonrpc": "2.0", "id": message["id"], "error": error})
            continue
        if MODE == "newest" and method == "server/discover":
            result: dict[str, Any] | None = {"resultType": "complete", "supportedVersions": ["2026-07-28"],
                                             "capabilities": {"tools": {}}, "ttlMs": 0,
                                             "cacheScope": "private"}  # fmt: skip
        elif method == "initialize":
            result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                      "serverInfo": {"name": MODE, "version": "1"}}  # fmt: skip
        elif method == "tools/list":
            result = listing(message.get("params") or {})
        elif method == "tools/call":
            result = answer_call(message["params"])
        else:
            say({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "unknown"}})
            continue
        if result is not None:
            say({"jsonrpc": "2.0", "id": message["id"], "result": result})
    if MODE == "family":
        time.sleep(600)  # does not end when asked politely


if __name__ == "__main__":
    main()
