"""A server with resources, prompts and tasks, of messages written by hand: `python offering.py MODE [FILE]`.

FILE, if there is one, names what it offers at the moment; reading `demo://announce` makes it say that this has changed.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

MODE = sys.argv[1]
FILE = Path(sys.argv[2]) if len(sys.argv) > 2 else None
tasks: dict[str, int] = {}
cancelled: list[str] = []


def say(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def announce(*_: Any) -> None:
    say({"method": "notifications/resources/list_changed"})


class Refusal(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": {}}, **more}


def resources(cursor: str | None) -> dict[str, Any]:
    if FILE is not None:
        return {"resources": [{"uri": f"demo://{name}", "name": name} for name in FILE.read_text().split()]}
    if MODE == "endless":
        at = int(cursor or 0)
        return {"resources": [{"uri": f"demo://{at}", "name": "same"}], "nextCursor": str(at + 1)}
    if MODE == "many":
        return {"resources": [{"uri": f"demo://{at}", "name": f"r{at}"} for at in range(2_000)]}
    if MODE == "refusing":
        raise Refusal(-32603, "not\x1b[31m today")
    if MODE == "broken":
        return {"resources": [7, {"uri": 3}, {"uri": "demo://x\ny"}, {"uri": "demo://" + "x" * 5_000}, {"uri": "demo://a"},
                              {"uri": "demo://a", "name": "again"}]}  # fmt: skip
    named = [("demo://read", "read"), ("demo://list", "List"), ("demo://1", "same"), ("demo://2", "same")]
    if cursor is None:
        return {"resources": [{"uri": uri, "name": name, "mimeType": "text/plain"} for uri, name in named],
                "nextCursor": "more"}  # fmt: skip
    return {"resources": [{"uri": "demo://picture", "name": "picture", "mimeType": "image/png"},
                          {"uri": "demo://large", "name": "large"}, {"uri": "demo://odd", "name": "odd"}]}  # fmt: skip


def read(uri: str) -> dict[str, Any]:
    if uri == "demo://picture":
        blob = base64.b64encode(b"\x89PNG" * 3_000).decode()
        return {"contents": [{"uri": uri, "mimeType": "image/png", "blob": blob}]}
    if uri == "demo://large":
        return {"contents": [{"uri": uri, "text": "x" * 300_000}]}
    if uri == "demo://odd":
        return {"contents": [{"uri": uri}, "text"]}
    if uri == "demo://announce":
        announce()
    if uri == "demo://gone":
        raise Refusal(-32002, "Resource not found")
    return {"contents": [{"uri": uri, "text": f"this is {uri}", "_meta": {"a": 1}}]}


def start_task(params: dict[str, Any]) -> dict[str, Any]:
    if "task" not in params:
        raise Refusal(-32601, "this tool only runs as a task")
    name = f"t{len(tasks)}"
    tasks[name] = 0
    return {"task": task(name, "working")}


def task(name: str, status: str) -> dict[str, Any]:
    return {"taskId": name, "status": status, "pollInterval": 250, "statusMessage": f"look {tasks.get(name)}"}


def look(name: str) -> dict[str, Any]:
    if name not in tasks:
        raise Refusal(-32602, "no such task")
    if MODE == "forgetful":
        raise Refusal(-32602, "no such task")
    tasks[name] += 1
    is_done = tasks[name] >= 3 and MODE != "stuck"
    return task(name, "completed" if is_done else "working")


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        features = {"tools": {}, "resources": {"listChanged": True}, "prompts": {}}
        return {"protocolVersion": params["protocolVersion"], "capabilities": features,
                "serverInfo": {"name": "offering", "version": "1"}}  # fmt: skip
    if method == "tools/list":
        if MODE == "untooled":
            raise Refusal(-32601, "no")
        reserved = [tool("resources/read demo://1"), tool("resources"), tool("prompts")]
        slow = tool("slow", execution={"taskSupport": "required"})
        return {"tools": [tool("read"), tool("cancelled"), slow, *reserved]}
    if method == "resources/list":
        return resources(params.get("cursor"))
    if method == "resources/templates/list":
        templates = ["demo://{a}/{+rest}{?limit}", "demo://{", "demo://plain", "demo://{a}{a}"]
        return {"resourceTemplates": [{"uriTemplate": one, "name": f"by {one}"} for one in templates]}
    if method == "resources/read":
        return read(params["uri"])
    if method == "prompts/list":
        many = [{"name": str(number)} for number in range(60)]
        return {"prompts": [{"name": "ask", "description": "Asks", "arguments": [{"name": "who", "required": True}]},
                            {"name": "many", "arguments": many}, {"title": "nameless"}]}  # fmt: skip
    if method == "prompts/get":
        text = {"type": "text", "text": f"hello {params['arguments']['who']}"}
        return {"description": "d", "messages": [{"role": "user", "content": text}]}
    if method == "tools/call" and params["name"] == "slow":
        return start_task(params)
    if method == "tools/call":
        return {"content": [{"type": "text", "text": json.dumps([params["name"], cancelled])}]}
    if method == "tasks/get":
        return look(params["taskId"])
    if method == "tasks/result":
        return {"content": [{"type": "text", "text": f"{params['taskId']} after {tasks[params['taskId']]}"}]}
    if method == "tasks/cancel":
        cancelled.append(params["taskId"])
        return task(params["taskId"], "cancelled")
    raise Refusal(-32601, "no")


while line := sys.stdin.readline():
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    try:
        say({"id": message["id"], "result": answer(message["method"], message.get("params", {}))})
    except Refusal as error:
        say({"id": message["id"], "error": {"code": error.code, "message": str(error)}})
