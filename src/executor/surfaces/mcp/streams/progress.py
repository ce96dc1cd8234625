"""What is said before a call is answered: its answer is then an event stream, which ends with the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import orjson
from starlette.types import Message, Send

from executor.errors import ExecutorError
from executor.surfaces.mcp.streams.event_ids import event_id_of

PROGRESS_SECONDS: Final = 2.0
OPENING_SECONDS: Final = 2.0  # what takes no longer is answered without a stream, if its client asked for no news
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
        self._saying = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._opening: asyncio.Task[None] | None = None
        self._execution_id = ""
        self.has_named_events = False

    def name_events(self, execution_id: str) -> None:
        """From now on, the client can come back to this call."""
        self._execution_id = execution_id

    @property
    def _event_id(self) -> bytes:
        return event_id_of(self._execution_id, self._message).encode() if self._execution_id else b""

    async def answer(
        self, serve: Callable[[Send], Awaitable[None]], finish: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """`finish` ends what else is said, before the answer."""
        task = asyncio.ensure_future(serve(self._hold))
        try:
            while not (await asyncio.wait((task,), timeout=None if self._token is None else PROGRESS_SECONDS))[0]:
                await self.report(WAITING.get(str(self._message["params"].get("name")), ""))
            if finish is not None:
                await finish()
            await task
        except ExecutorError as error:
            if not self._is_open:
                raise
            await self._end(orjson.dumps(self._failure(error)))
        else:
            await self._finish()
        finally:
            task.cancel()

    async def answer_plainly(self, serve: Callable[[Send], Awaitable[None]]) -> None:
        """The answer alone. Only if that takes longer, it is a stream, which the client can come back to."""
        self._open_later()
        try:
            await serve(self._hold)
        except ExecutorError as error:
            await self._wait_for_opening()
            if not self._is_open:
                raise
            await self._end(orjson.dumps(self._failure(error)))
        else:
            await self._wait_for_opening()
            await self._finish()
        finally:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None  # else it would be a cycle: it knows the context of this call

    def _open_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(OPENING_SECONDS, self._begin_opening)

    def _begin_opening(self) -> None:
        """Not before there is an execution that the client could come back to."""
        if self._event_id:
            self._opening = asyncio.create_task(self._name_place())
        else:
            self._open_later()

    async def _wait_for_opening(self) -> None:
        if self._opening is not None:
            await self._opening

    async def _name_place(self) -> None:
        """An event without content, as revision 2025-11-25 begins a stream: the client comes back with its id."""
        async with self._saying:
            if not self._is_open:
                await self._open()
            self.has_named_events = True
            body = b"id: %s\ndata: \n\n" % self._event_id
            await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def resume(self, serve: Callable[[], Awaitable[bytes]]) -> None:
        """The rest of a stream that broke. A name without data: the client may come back once more."""
        await self._open()
        await self._send({"type": "http.response.body", "body": b"id: %s\n\n" % self._event_id, "more_body": True})
        try:
            await self._end(await serve())
        except ExecutorError as error:
            await self._end(orjson.dumps(self._failure(error)))

    async def _open(self) -> None:
        self._is_open = True
        await self._send({"type": "http.response.start", "status": 200, "headers": _HEADERS})

    async def _hold(self, message: Message) -> None:
        self._held.append(message)

    async def say(self, message: dict[str, Any]) -> None:
        async with self._saying:
            if not self._is_open:
                await self._open()
            await self._event(orjson.dumps(message))

    async def report(self, text: str) -> None:
        """Progress counts reports: how many there will be is not known."""
        self._reports += 1
        params = {"progressToken": self._token, "progress": self._reports}
        if text:
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
        event_id = self._event_id
        name = b"id: %s\n" % event_id if event_id else b""
        self.has_named_events = self.has_named_events or bool(name)
        body = b"event: message\n%s%s\n" % (name, lines)
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    def _failure(self, error: ExecutorError) -> dict[str, Any]:
        problem = {"code": INTERNAL_ERROR, "message": error.message, "data": {"code": error.code, "hint": error.hint}}
        return {"jsonrpc": "2.0", "id": self._message.get("id"), "error": problem}
