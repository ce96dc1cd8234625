"""Streamable HTTP for a command: one process of it for each session, messages unchanged both ways."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from dataclasses import field
from typing import Any

from starlette.types import Receive, Scope, Send

from executor.dataclass import dataclass
from executor.errors import Busy, Conflict, ExecutorError, SourceUnreachable
from executor.sources.mcp.transports.endpoint import Endpoint
from executor.surfaces.mcp.host.error_output import ErrorOutput
from executor.surfaces.mcp.host.message import COMMAND_FAILED, INITIALIZE, INVALID_REQUEST, Id, Message, read_message
from executor.surfaces.mcp.host.responses import (
    SESSION_HEADER,
    begin_events,
    send_answer,
    send_error,
    send_events,
    send_json,
    wait_for_disconnect,
)
from executor.surfaces.mcp.host.session import HostSession

PATH = "/mcp"
METHODS = "GET, POST, DELETE"
NO_SESSION = "this session has ended or never was; send `initialize` to start one"
FIRST_INITIALIZE = "send `initialize` first; revisions of the protocol without it are not supported here"


@dataclass(frozen=True, slots=True)
class HostLimits:
    max_sessions: int = 32
    idle_seconds: float = 900.0


@dataclass(slots=True)
class McpHost:
    """An ASGI application. `report` gets lines for the operator, who may read what commands say; clients may not."""

    endpoint: Endpoint
    limits: HostLimits
    report: Callable[[str], None]
    _sessions: dict[str, HostSession] = field(default_factory=dict)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _is_closing: bool = False
    _names: dict[str, int] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != PATH:
            await send_error(send, 404, INVALID_REQUEST, f"nothing is at this address; use {PATH}")
        elif scope["method"] == "POST":
            await self._post(scope, receive, send)
        elif scope["method"] in ("GET", "DELETE"):
            session = await self._find(scope, send)
            if session is not None and scope["method"] == "GET":
                await self._listen(session, scope, receive, send)
            elif session is not None:
                await session.stop()
                await send_json(send, 200, b"")
        else:
            await send_json(send, 405, b"", [(b"allow", METHODS.encode())])

    @property
    def sessions_open(self) -> int:
        return len(self._sessions)

    @property
    def calls_under_way(self) -> int:
        return sum(session.calls_under_way for session in self._sessions.values())

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(min(30.0, self.limits.idle_seconds / 4))
            await self.end_idle(asyncio.get_running_loop().time())

    async def end_idle(self, now: float) -> None:
        """End sessions that no one has used for a while."""
        for session in list(self._sessions.values()):
            is_unused = session.is_idle and now - session.last_used >= self.limits.idle_seconds
            if is_unused and not session.is_ending:
                self.report(f"session {self._names[session.id]} was idle and is ended")
                await session.stop()

    async def close(self) -> None:
        """Returns when every process has ended."""
        self._is_closing = True
        if self._sessions:
            await asyncio.wait([asyncio.ensure_future(session.stop()) for session in self._sessions.values()])

    async def _post(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not accepts_answers(scope):
            text = "accept both `application/json` and `text/event-stream`"
            await send_error(send, 406, INVALID_REQUEST, text)
            return
        message = read_message(await read_body(receive))
        if message is None:
            await send_error(send, 400, INVALID_REQUEST, "the body is not one JSON-RPC message")
        elif message.method == INITIALIZE and message.is_request:
            await self._initialize(message, scope, receive, send)
        elif (session := await self._find(scope, send)) is not None:
            await self._pass_on(session, message, receive, send)

    async def _find(self, scope: Scope, send: Send) -> HostSession | None:
        named = session_id(scope)
        session = self._sessions.get(named)
        if session is not None and not session.is_ending:
            return session
        status, text = (404, NO_SESSION) if named else (400, FIRST_INITIALIZE)
        await send_error(send, status, INVALID_REQUEST, text)
        return None

    async def _initialize(self, message: Message, scope: Scope, receive: Receive, send: Send) -> None:
        if session_id(scope):
            await send_error(send, 400, INVALID_REQUEST, "a session is initialized once", message.id)
        elif self._is_closing:
            await send_error(send, 503, COMMAND_FAILED, "this host is stopping", message.id)
        elif len(self._sessions) >= self.limits.max_sessions:
            self.report(f"a session was refused: {self.limits.max_sessions} are open (--max-sessions)")
            text = f"as many sessions are open as this host allows ({self.limits.max_sessions}); try again later"
            await send_error(send, 503, COMMAND_FAILED, text, message.id)
        elif (session := await self._start(message, send)) is not None:
            await self._pass_on(session, message, receive, send)
            if not session.is_initialized:
                await session.stop()

    async def _start(self, message: Message, send: Send) -> HostSession | None:
        """It counts from before its process is started, and until everything of it has ended."""
        number = next(self._numbers)
        heard = ErrorOutput(lambda line: self.report(f"[{number}] {line}"))
        session = HostSession(self.endpoint, heard.hear, self._forget)
        self._names[session.id] = number
        self._sessions[session.id] = session
        try:
            await session.start()
        except SourceUnreachable as error:
            await send_error(send, 502, COMMAND_FAILED, error.message, message.id)
            return None
        if self._is_closing:
            await session.stop()
        return session

    def _forget(self, session: HostSession, reason: str) -> None:
        number = self._names.pop(session.id)
        del self._sessions[session.id]
        self.report(f"session {number} ended{f': {reason}' if reason else ''}")

    async def _pass_on(self, session: HostSession, message: Message, receive: Receive, send: Send) -> None:
        if message.is_request:
            await until_disconnect(receive, self._call(session, message, send))
            return
        try:
            await session.send(message)
        except SourceUnreachable:
            await send_error(send, 404, INVALID_REQUEST, NO_SESSION)
        except Busy as error:
            await refuse(send, error)
        else:
            await send_json(send, 202, b"")

    async def _call(self, session: HostSession, request: Message, send: Send) -> None:
        assert request.id is not None  # noqa: S101 - for the type checker
        try:
            outbox = session.begin_call(request)
        except (Busy, Conflict) as error:
            await refuse(send, error, request.id)
            return
        try:
            await session.send(request)
            await send_answer(outbox, send, [(SESSION_HEADER, session.id.encode())])
        except SourceUnreachable:
            await send_error(send, 404, INVALID_REQUEST, NO_SESSION, request.id)
        except Busy as error:
            await refuse(send, error, request.id)
        finally:
            session.end_call(request.id, outbox)

    async def _listen(self, session: HostSession, scope: Scope, receive: Receive, send: Send) -> None:
        if not accepts(scope, b"text/event-stream"):
            await send_error(send, 406, INVALID_REQUEST, "accept `text/event-stream`")
            return
        outbox = await session.listen()
        try:
            await begin_events(send, [(SESSION_HEADER, session.id.encode())])
            await until_disconnect(receive, send_events(outbox, send))
        finally:
            session.unlisten(outbox)


async def refuse(send: Send, error: ExecutorError, number: Id | None = None) -> None:
    await send_error(send, error.status, INVALID_REQUEST, f"{error.message}; {error.hint}", number)


async def until_disconnect(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """A client that leaves does not cancel what it asked for; that takes a message of its own."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(wait_for_disconnect(receive))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        if not task.done():
            task.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)
    if not task.cancelled():
        task.result()


async def read_body(receive: Receive) -> bytes:
    parts, more = [], True
    while more:
        event = await receive()
        parts.append(event.get("body", b""))
        more = event.get("more_body", False)
    return b"".join(parts)


def session_id(scope: Scope) -> str:
    found = [value for name, value in scope["headers"] if name == SESSION_HEADER]
    return found[0].decode("latin-1") if len(found) == 1 else ""


def accepts_answers(scope: Scope) -> bool:
    return accepts(scope, b"application/json") and accepts(scope, b"text/event-stream")


def accepts(scope: Scope, kind: bytes) -> bool:
    given = b",".join(value for name, value in scope["headers"] if name == b"accept").lower()
    ranges = {one.partition(b";")[0].strip() for one in given.split(b",")}
    return bool(ranges & {kind, kind.partition(b"/")[0] + b"/*", b"*/*"})
