"""What is said before a call is answered: its answer is then an event stream, which ends with the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import orjson
from starlette.types import Message, Send

from executor.errors import ExecutorError

PROGRESS_SECONDS: Final = 2.0
STREAM: Final = "text/event-stream"
INTERNAL_ERROR: Final = -32603
WAITING: Final = {"execute": "The code is running.", "resume": "Waiting for the execution, or for a human's decision."}
_HEADERS = [(b"content-type", STREAM.encode()), (b"x-accel-buffering", b"no")]


def progress_token(message: dict[str, Any], headers: Mapping[str, str]) -> str | int | None:
    """That the client gave this call, if it also reads streams."""
    meta = message["params"].get("_meta") if isinstance(message.get("params"), dict) else None
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return token if type(token) in (str, int) and reads_streams(headers) else None


def reads_streams(headers: Mapping[str, str]) -> bool:
    return STREAM in headers.get("accept", "")


class CallStream:
    """The answer to a call, and what is said before it. Where nothing is, the answer goes out as it is.

    Without a token no one asked for progress.
    """

    def __init__(self, send: Send, message: dict[str, Any], token: str | int | None) -> None:
        self._send = send
        self._message = message
        self._token = token
        self._reports = 0
        self._is_open = False
        self._held: list[Message] = []

    async def answer(self, serve: Callable[[Send], Awaitable[None]]) -> None:
        task = asyncio.ensure_future(serve(self._hold))
        try:
            while not (await asyncio.wait((task,), timeout=None if self._token is None else PROGRESS_SECONDS))[0]:
                await self._report()
            await task
        except ExecutorError as error:
            if not self._is_open:
                raise
            await self._end(orjson.dumps(self._failure(error)))
        else:
            await self._finish()
        finally:
            task.cancel()

    async def _hold(self, message: Message) -> None:
        self._held.append(message)

    async def say(self, message: dict[str, Any]) -> None:
        if not self._is_open:
            self._is_open = True
            await self._send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await self._event(orjson.dumps(message))

    async def _report(self) -> None:
        self._reports += 1
        params = {"progressToken": self._token, "progress": self._reports * PROGRESS_SECONDS}
        if text := WAITING.get(str(self._message["params"].get("name"))):
            params["message"] = text
        await self.say({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    async def _finish(self) -> None:
        if self._is_open:
            await self._end(b"".join(message.get("body", b"") for message in self._held))
            return
        for message in self._held:
            await self._send(message)

    async def _end(self, answer: bytes) -> None:
        await self._event(answer)
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _event(self, data: bytes) -> None:
        lines = b"".join(b"data: %s\n" % line for line in data.splitlines())
        await self._send({"type": "http.response.body", "body": b"event: message\n%s\n" % lines, "more_body": True})

    def _failure(self, error: ExecutorError) -> dict[str, Any]:
        problem = {"code": INTERNAL_ERROR, "message": error.message, "data": {"code": error.code, "hint": error.hint}}
        return {"jsonrpc": "2.0", "id": self._message.get("id"), "error": problem}
