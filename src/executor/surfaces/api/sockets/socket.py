"""A WebSocket that was let in: what it is sent stops with its credential, and with the daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import orjson
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from executor.daemon.wiring.executor import Executor
from executor.errors import ExecutorError, InvalidRequest
from executor.model.identity.actor import Actor
from executor.surfaces.api.context import Need, meets, refusal
from executor.surfaces.http.long_wait import LongWaits
from executor.surfaces.http.open_requests import abort, current, declare_needs

STALLED_SECONDS = 60.0
ENDED, STOPPING, REFUSED = 1000, 1001, 1008
MAX_REASON = 120  # bytes; the protocol has room for 123


class Socket:
    def __init__(self, api: FastAPI, scope: Scope, receive: Receive, send: Send) -> None:
        self.executor: Executor = api.state.executor
        self._held: LongWaits = api.state.streams
        self._scope, self._receive, self._send = scope, receive, send
        self._request = current()

    @property
    def actor(self) -> Actor:
        """As it is now: a role may have changed."""
        return self._request.actor

    def check(self, *any_of: Need) -> None:
        declare_needs(any_of)
        if not any(meets(self.actor, need) for need in any_of):
            raise refusal(any_of, self.actor)

    async def accept(self) -> None:
        await self._receive()  # that it connects
        await self._send({"type": "websocket.accept"})

    async def receive(self) -> str | bytes | None:
        """The next message; None when the other side has gone, or may not continue."""
        message = await self._receive()
        if message["type"] != "websocket.receive" or await self._has_ended():
            return None
        content: str | bytes = message.get("text") or message.get("bytes") or b""
        return content

    async def send(self, content: dict[str, Any] | bytes) -> None:
        if await self._has_ended():
            raise asyncio.CancelledError  # `run` says why
        is_bytes = isinstance(content, bytes)
        message = {"bytes": content} if is_bytes else {"text": orjson.dumps(content, default=str).decode()}
        async with asyncio.timeout(STALLED_SECONDS):
            await self._send({"type": "websocket.send", **message})

    async def _has_ended(self) -> bool:
        request = self._request
        return request.refusal is not None or (request.doubt is not None and await request.has_ended())

    async def run(self, *parts: Coroutine[Any, Any, None]) -> None:
        """Until one of them is done, the credential has ended or the daemon stops; then it is closed, saying why."""
        with self._held.stream(self._request):
            ends = [asyncio.ensure_future(one) for one in (self._held.closed.wait(), self._request.ended.wait())]
            tasks = [asyncio.ensure_future(one) for one in parts]
            try:
                await asyncio.wait([*ends, *tasks], return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in (*ends, *tasks):
                    one.cancel()
                outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            if any(isinstance(one, TimeoutError) for one in outcomes):
                await abort(self._scope)  # no one reads
                return
            for outcome in outcomes:
                if isinstance(outcome, Exception):
                    raise outcome
        await self._close()

    async def refuse(self, error: ExecutorError) -> None:
        """After it was accepted: as a message, and as the reason of the end."""
        await self.send(problem(error))
        await self._say_bye(REFUSED, error.message)

    async def _close(self) -> None:
        if self._request.refusal is not None:
            await self._say_bye(REFUSED, self._request.refusal.message)
        elif self._held.closed.is_set():
            await self._say_bye(STOPPING, "the daemon is stopping")
        else:
            await self._say_bye(ENDED, "")

    async def _say_bye(self, code: int, reason: str) -> None:
        short = reason.encode()[:MAX_REASON].decode(errors="ignore")
        await self._send({"type": "websocket.close", "code": code, "reason": short})


def problem(error: ExecutorError) -> dict[str, Any]:
    return {"type": "error", "code": error.code, "message": error.message, "hint": error.hint}


def read_object(text: str | bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        raise InvalidRequest("a message must be a JSON object with a `type`", hint="see the API reference")
    return found
