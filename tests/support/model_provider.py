"""A model provider on loopback: speaks all wire formats, streams in odd pieces, and keeps a ledger of its own."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from executor.model.sessions.model_usage import Usage

USUAL = Usage(input=11, cache_read=7, cache_write=5, cache_write_1h=3, output=20)
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon")


@dataclass
class Seen:
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


@dataclass
class ModelProvider:
    """`usage` is what every answer is billed as. `gate` holds answers back after their first piece."""

    origin: str = ""
    usage: Usage = USUAL
    error: tuple[int, dict[str, str], bytes] | None = None
    text: str = "".join(WORDS)
    leave_after: int | None = None
    usual_pieces: bool = True
    written: int = 0
    pieces: random.Random = field(default_factory=lambda: random.Random(7))
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    seen: list[Seen] = field(default_factory=list)
    billed: list[Usage] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        self.seen.append(Seen(request.method, request.raw_path, list(request.headers.items()), body))
        if self.error is not None:
            status, headers, content = self.error
            return web.Response(status=status, headers=headers, body=content)
        path = request.path
        if request.method == "GET" or path.endswith(("count_tokens", ":countTokens")):
            return web.json_response({"input_tokens": 42, "data": []})
        asked = json.loads(body)
        if not (asked.get("stream") or "streamGenerateContent" in path):
            await self.gate.wait()
            self.billed.append(self.usage)
            return web.Response(body=json.dumps(self.whole(path)).encode(), content_type="application/json")
        return await self.stream(request, self.events(path, asked))

    async def stream(self, request: web.BaseRequest, events: bytes) -> web.StreamResponse:
        """Whoever leaves early is billed all the same: the answer was generated."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Set-Cookie": "who=me"})
        await response.prepare(request)
        self.sent.append(events)
        self.billed.append(self.usage)
        end = len(events) if self.leave_after is None else self.leave_after
        at, first = 0, True
        while at < end:
            size = self.pieces.randint(1, 97) if self.usual_pieces else 64 * 1024
            await response.write(events[at : min(at + size, end)])
            at += size
            self.written += size
            if first:
                await self.gate.wait()
                first = False
        if self.leave_after is not None and request.transport is not None:
            request.transport.abort()
        return response

    def events(self, path: str, asked: dict[str, Any]) -> bytes:
        if path == "/v1/messages":
            return named(self.messages())
        if path == "/v1/responses":
            return named(self.responses())
        if path == "/v1/chat/completions":
            with_usage = (asked.get("stream_options") or {}).get("include_usage")
            return unnamed(self.chat(with_usage)) + b"data: [DONE]\n\n"
        return unnamed(self.generate()).replace(b"\n", b"\r\n")

    def whole(self, path: str) -> dict[str, Any]:
        if path == "/v1/messages":
            return {"type": "message", "content": [{"type": "text", "text": self.text}], "usage": self.anthropic()}
        if path == "/v1/responses":
            return {"object": "response", "output": [], "usage": self.openai("input_tokens", "output_tokens")}
        if path == "/v1/chat/completions":
            usage = self.openai("prompt_tokens", "completion_tokens")
            return {"object": "chat.completion", "choices": [{"message": {"content": self.text}}], "usage": usage}
        return self.generate()[-1]

    def messages(self) -> list[dict[str, Any]]:
        """The prompt at the start, the output in several reports, each of which includes those before."""
        usage = self.anthropic()
        prompt = {name: value for name, value in usage.items() if name != "output_tokens"}
        half = {"output_tokens": self.usage.output // 2}
        return [
            {"type": "message_start", "message": {"id": "msg_1", "usage": {**prompt, "output_tokens": 1}}},
            {"type": "ping"},
            *({"type": "content_block_delta", "delta": {"type": "text_delta", "text": word}} for word in self.words()),
            {"type": "message_delta", "delta": {"stop_reason": None}, "usage": half},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {**usage, "input_tokens": None}},
            {"type": "message_stop"},
        ]

    def responses(self) -> list[dict[str, Any]]:
        usage = self.openai("input_tokens", "output_tokens")
        return [
            {"type": "response.created", "response": {"object": "response", "usage": None}},
            *({"type": "response.output_text.delta", "delta": word} for word in self.words()),
            {"type": "response.completed", "response": {"object": "response", "usage": usage}},
        ]

    def chat(self, with_usage: bool) -> list[dict[str, Any]]:
        chunk: dict[str, Any] = {"object": "chat.completion.chunk"}
        chunks = [{**chunk, "choices": [{"index": 0, "delta": {"content": word}}]} for word in self.words()]
        usage = self.openai("prompt_tokens", "completion_tokens")
        return chunks + ([{**chunk, "choices": [], "usage": usage}] if with_usage else [])

    def generate(self) -> list[dict[str, Any]]:
        """Repeated in every chunk, and only the last is true."""
        total = {
            "promptTokenCount": self.usage.prompt,
            "cachedContentTokenCount": self.usage.cache_read,
            "candidatesTokenCount": self.usage.output,
            "thoughtsTokenCount": self.usage.thoughts,
        }
        chunks: list[dict[str, Any]] = [
            {
                "candidates": [{"content": {"parts": [{"text": word}]}}],
                "usageMetadata": {**total, "candidatesTokenCount": at},
            }
            for at, word in enumerate(self.words())
        ]
        return [*chunks, {"candidates": [{"finishReason": "STOP"}], "usageMetadata": total}]

    def words(self) -> list[str]:
        size = max(40, len(self.text) // 500)
        return [self.text[at : at + size] for at in range(0, len(self.text), size)]

    def anthropic(self) -> dict[str, Any]:
        used = self.usage
        return {
            "input_tokens": used.input,
            "cache_read_input_tokens": used.cache_read,
            "cache_creation_input_tokens": used.cache_write + used.cache_write_1h,
            "cache_creation": {
                "ephemeral_5m_input_tokens": used.cache_write,
                "ephemeral_1h_input_tokens": used.cache_write_1h,
            },
            "output_tokens": used.output,
        }

    def openai(self, prompt: str, output: str) -> dict[str, Any]:
        used = self.usage
        return {
            prompt: used.prompt,
            f"{prompt}_details": {"cached_tokens": used.cache_read},
            output: used.output + used.thoughts,
            f"{output}_details": {"reasoning_tokens": used.thoughts},
        }


def named(events: list[dict[str, Any]]) -> bytes:
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)


def unnamed(events: list[dict[str, Any]]) -> bytes:
    return b"".join(f"data: {json.dumps(one)}\n\n".encode() for one in events)


@asynccontextmanager
async def serving() -> AsyncIterator[ModelProvider]:
    provider = ModelProvider()
    provider.gate.set()
    server = web.Server(provider.handle, access_log=None)
    listening = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    provider.origin = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield provider
    finally:
        provider.gate.set()
        listening.close()
        server.pre_shutdown()
        await server.shutdown(1.0)
