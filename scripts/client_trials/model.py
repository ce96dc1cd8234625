"""One HTTP server on loopback that plays a script in four protocols: Anthropic, OpenAI Responses and chat, Gemini."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from client_trials.script import ScriptedModel, Turn

Event = dict[str, Any]
KEYS = ("x-api-key", "authorization", "x-goog-api-key")


def text_of(content: Any) -> str:
    """All text in a piece of a message, however it is nested."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict) and isinstance(content.get("text"), str):
        return str(content["text"])
    parts = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    return "\n".join(filter(None, (text_of(part) for part in parts)))


def anthropic(script: ScriptedModel, body: dict[str, Any]) -> list[Event]:
    tools = [str(one.get("name")) for one in body.get("tools") or ()]
    blocks = [one for message in body["messages"] if isinstance(message["content"], list) for one in message["content"]]
    results = [text_of(one.get("content")) for one in blocks if one.get("type") == "tool_result"]
    turn = script.next_turn(tools, results, text_of(body.get("system")) + text_of(body["messages"]))
    name = next((one for one in tools if one == turn.tool or one.endswith(f"__{turn.tool}")), "")
    if turn.tool:
        block = {"type": "tool_use", "id": f"toolu_{len(results)}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(turn.arguments)}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": turn.text}
    prompt, output = script.bill(str(body["model"]))
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": prompt, "output_tokens": 1},
    }  # fmt: skip
    stop = {"stop_reason": "tool_use" if turn.tool else "end_turn", "stop_sequence": None}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": output}},
        {"type": "message_stop"},
    ]


def responses(script: ScriptedModel, body: dict[str, Any]) -> list[Event]:
    """Codex puts the tools of a server into a namespace."""
    flat: list[tuple[str, str]] = []
    for one in body.get("tools") or ():
        inner = one.get("tools") or ()
        flat += [(str(tool.get("name")), str(one.get("name"))) for tool in inner] or [(str(one.get("name")), "")]
    given = body.get("input") or []
    results = [text_of(one.get("output")) for one in given if one.get("type") == "function_call_output"]
    prompt = str(body.get("instructions")) + json.dumps(given) + json.dumps(body.get("tools"))
    turn = script.next_turn([f"{space}__{name}" for name, space in flat], results, prompt)
    ours = [(name, space) for name, space in flat if "executor" in space + name]
    own = [(name, space) for name, space in flat if name == turn.tool and not space]  # of the client itself
    found = next((one for one in (*own, *ours) if one[0].endswith(turn.tool)), None)
    if turn.tool and found:
        item: Event = {"type": "function_call", "id": f"fc_{len(results)}", "call_id": f"c_{len(results)}"}
        item |= {"name": found[0], "arguments": json.dumps(turn.arguments)}
        item |= {"namespace": found[1]} if found[1] else {}
    else:
        content = [{"type": "output_text", "text": turn.text}]
        item = {"type": "message", "id": "m_1", "role": "assistant", "content": content}
    read, written = script.bill(str(body["model"]))
    usage = {"input_tokens": read, "input_tokens_details": None, "output_tokens": written}
    usage |= {"output_tokens_details": None, "total_tokens": read + written}
    return [
        {"type": "response.created", "response": {"id": "r_1"}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": "r_1", "usage": usage}},
    ]


def chat(script: ScriptedModel, body: dict[str, Any]) -> tuple[list[Event], Event]:
    """As a stream, and as one answer."""
    tools = [str(one.get("function", {}).get("name")) for one in body.get("tools") or ()]
    results = [text_of(one.get("content")) for one in body["messages"] if one.get("role") == "tool"]
    turn = script.next_turn(tools, results, text_of(body["messages"]))
    message: Event = {"role": "assistant", "content": turn.text}
    if turn.tool:
        name = next((one for one in tools if one.endswith(turn.tool)), "")
        function = {"name": name, "arguments": json.dumps(turn.arguments)}
        message["tool_calls"] = [{"index": 0, "id": f"c_{len(results)}", "type": "function", "function": function}]
    prompt, output = script.bill(str(body["model"]))
    usage = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
    stop, head = "tool_calls" if turn.tool else "stop", {"id": "x", "model": "scripted", "created": 1}
    chunk = {**head, "object": "chat.completion.chunk"}
    stream = [
        {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}], "usage": usage},
    ]
    choice = {"index": 0, "message": message, "finish_reason": stop}
    return stream, {**head, "object": "chat.completion", "choices": [choice], "usage": usage}


def gemini(script: ScriptedModel, body: dict[str, Any]) -> Event:
    tools = [str(one["name"]) for group in body.get("tools") or () for one in group.get("functionDeclarations", ())]
    parts = [part for content in body.get("contents", ()) for part in content.get("parts", ())]
    results = [text_of(one["functionResponse"].get("response")) for one in parts if "functionResponse" in one]
    turn = script.next_turn(tools, results, text_of(body.get("systemInstruction")) + text_of(body.get("contents")))
    part: Event = {"text": turn.text}
    if turn.tool:
        name = next((one for one in tools if one.endswith(turn.tool) and "executor" in one), turn.tool)
        part = {"functionCall": {"name": name, "args": turn.arguments}}
    prompt, output = script.bill(str(body["model"]))
    usage = {"promptTokenCount": prompt, "candidatesTokenCount": output, "totalTokenCount": prompt + output}
    content = {"role": "model", "parts": [part]}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}


class Handler(BaseHTTPRequestHandler):
    script: ScriptedModel

    def do_GET(self) -> None:
        self._send("application/json", b'{"data":[],"models":[]}')

    do_HEAD = do_GET  # noqa: N815 - the library's names

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        self.script.keys |= {self.headers[name].removeprefix("Bearer ") for name in KEYS if name in self.headers}
        body.setdefault("model", self.path.rpartition("models/")[2].partition(":")[0])
        path, streams = self.path.lower(), bool(body.get("stream"))
        if "count_tokens" in path or "counttokens" in path:
            self._send("application/json", b'{"input_tokens":1,"totalTokens":1}')
        elif "chat/completions" in path:
            stream, whole = chat(self.script, body)
            self._events([*stream, None]) if streams else self._send("application/json", json.dumps(whole).encode())
        elif "/messages" in path:
            self._events(anthropic(self.script, body), named=True)
        elif "/responses" in path:
            self._events(responses(self.script, body), named=True)
        elif "stream" in path:
            self._events([gemini(self.script, body)])
        else:
            self._send("application/json", json.dumps(gemini(self.script, body)).encode())

    def _events(self, events: list[Event | None] | list[Event], *, named: bool = False) -> None:
        lines = [f"event: {one['type']}\n" if named and one else "" for one in events]
        data = [json.dumps(one) if one is not None else "[DONE]" for one in events]
        text = "".join(f"{line}data: {one}\n\n" for line, one in zip(lines, data, strict=True))
        self._send("text/event-stream", text.encode())

    def _send(self, media_type: str, data: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None: ...


@contextmanager
def serving(script: ScriptedModel) -> Iterator[str]:
    handler = type("ScriptedHandler", (Handler,), {"script": script})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


__all__ = ["Turn", "serving"]
