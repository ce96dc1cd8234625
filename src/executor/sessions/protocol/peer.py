"""One side of a duplex JSON-RPC 2.0 conversation: calls, answers and notifications in both directions at once."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import secrets
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from executor.errors import ExecutorError
from executor.sessions.protocol.channel import Channel
from executor.sessions.protocol.lines import (
    HANDLER_ERROR,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    MAX_LINE,
    UNKNOWN_METHOD,
    Lines,
    LineTooLong,
    RpcError,
    dump,
    parse,
)

log = logging.getLogger(__name__)

MAX_WAITING_MESSAGES = 256  # read but not yet handled; above it, reading pauses and the other side has to wait
MAX_WAITING_BYTES = 4 * 2**20  # written but not yet sent; above it, `notify` and `call` wait
MAX_WAITING_DESCRIPTORS = 4
MAX_REQUESTS = 256  # of the other side, under way at once

Params = dict[str, Any]
Handler = Callable[[Params], Awaitable[Any] | Any]


class ConnectionClosed(ConnectionError):
    """The conversation is over; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class WithDescriptor:
    """What a handler returns to answer with a descriptor, which is closed here once it is sent."""

    result: Any
    descriptor: int


@dataclass
class _Outgoing:
    data: memoryview
    descriptors: list[int]


class Peer:
    """Messages are taken in the order they came: a notification is handled before anything after it is looked at.

    So a notification's handler must not `call` the same peer. Handlers of requests run beside each other.
    With `lenient`, lines that are no JSON-RPC are skipped instead of answered: programs print such things.
    """

    def __init__(
        self, channel: Channel, handlers: dict[str, Handler], *, max_line: int = MAX_LINE, lenient: bool = False
    ) -> None:
        self._channel, self._handlers, self._lenient = channel, handlers, lenient
        self._loop = asyncio.get_running_loop()
        self._lines = Lines(max_line)
        self._ids = itertools.count(1)
        self._calls: dict[int | str, asyncio.Future[tuple[Any, int | None]]] = {}
        self._inbox: deque[bytes] = deque()
        self._outbox: deque[_Outgoing] = deque()
        self._outbox_bytes = 0
        self._descriptors: deque[int] = deque()
        self._requests: set[asyncio.Task[None]] = set()
        self._has_input, self._may_write = asyncio.Event(), asyncio.Event()
        self._may_write.set()
        self._reading = self._writing = False
        self._ended = False  # the other side has closed; what it sent before is still handled
        self._close_reason = ""
        self._closed: asyncio.Future[str] = self._loop.create_future()
        self.skipped_lines = 0
        self._set_reading(True)
        self._worker = self._loop.create_task(self._work())

    # -- for users ------------------------------------------------------------

    async def call(self, method: str, params: Params, timeout: float | None = None) -> Any:
        """Without a timeout the answer may take forever; it ends at the latest when the connection does."""
        result, descriptor = await self._call(method, params, timeout)
        if descriptor is not None:
            os.close(descriptor)
        return result

    async def call_for_descriptor(
        self, method: str, params: Params, timeout: float | None = None
    ) -> tuple[Any, int | None]:
        """The caller owns the descriptor, and checks what it is."""
        return await self._call(method, params, timeout)

    async def notify(self, method: str, params: Params) -> None:
        await self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def wait_closed(self) -> str:
        """Returns why the conversation ended."""
        return await asyncio.shield(self._closed)

    @property
    def is_closed(self) -> bool:
        return self._closed.done()

    def close(self, reason: str = "closed") -> None:
        """Every pending call fails and every handler under way is cancelled. What was written is sent if it can be."""
        if self._closed.done():
            return
        with suppress(OSError):
            self._flush()
        self._set_reading(False)
        self._set_writing(False)
        self._closed.set_result(reason)
        self._has_input.set()
        self._may_write.set()
        for future in self._calls.values():
            if not future.done():
                future.set_exception(ConnectionClosed(reason))
                future.exception()  # it may have no one waiting for it
        self._calls.clear()
        for task in (*self._requests, self._worker):
            if task is not asyncio.current_task():
                task.cancel()
        for descriptor in (*self._descriptors, *(fd for item in self._outbox for fd in item.descriptors)):
            os.close(descriptor)
        self._descriptors.clear()
        self._outbox.clear()
        self._channel.close()

    # -- calls ----------------------------------------------------------------

    async def _call(self, method: str, params: Params, timeout: float | None) -> tuple[Any, int | None]:
        identifier = next(self._ids)
        future: asyncio.Future[tuple[Any, int | None]] = self._loop.create_future()
        self._calls[identifier] = future
        try:
            async with asyncio.timeout(timeout):
                await self._send({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params})
                return await future
        finally:
            self._calls.pop(identifier, None)

    def _settle(self, message: dict[str, Any], descriptor: int | None) -> None:
        future = self._calls.pop(message.get("id") or 0, None)
        if future is None or future.done():  # given up, or never asked
            if descriptor is not None:
                os.close(descriptor)
            return
        error = message.get("error")
        if "result" in message and error is None:
            future.set_result((message["result"], descriptor))
            return
        if descriptor is not None:
            os.close(descriptor)
        future.set_exception(_received_error(error))

    # -- messages that came ---------------------------------------------------

    async def _work(self) -> None:
        while not self._closed.done():
            while self._inbox:
                line = self._inbox.popleft()
                if len(self._inbox) < MAX_WAITING_MESSAGES // 2:
                    self._set_reading(True)
                await self._take(line)
            if self._ended:
                self.close(self._close_reason)
                return
            self._has_input.clear()
            await self._has_input.wait()

    async def _take(self, line: bytes) -> None:
        try:
            message = parse(line)
        except RpcError as error:
            self.skipped_lines += 1
            if not self._lenient:
                await self._answer(None, error=error)
            return
        descriptor = self._descriptors.popleft() if message.get("descriptors") and self._descriptors else None
        if "method" not in message:
            self._settle(message, descriptor)
            return
        if descriptor is not None:  # nothing that is called here takes one
            os.close(descriptor)
        if "id" in message:
            await self._begin_request(message)
        else:
            await self._handle_notification(message)

    async def _begin_request(self, message: dict[str, Any]) -> None:
        """A handler that needs no waiting is answered at once, also if the other side has closed its half."""
        method, identifier = message["method"], message["id"]
        try:
            if (handler := self._handlers.get(method)) is None:
                raise RpcError(UNKNOWN_METHOD, f"there is no method {method[:200]!r}")
            if len(self._requests) >= MAX_REQUESTS:
                raise RpcError(HANDLER_ERROR, f"more than {MAX_REQUESTS} requests are under way")
            result = handler(message.get("params", {}))
        except Exception as error:  # noqa: BLE001 - the edge: what goes out is a code and a sentence
            await self._answer(identifier, error=_sendable_error(error, method))
            return
        if not isinstance(result, Awaitable):
            await self._answer(identifier, result=result)
            return
        task = self._loop.create_task(self._finish_request(identifier, method, result))
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)

    async def _finish_request(self, identifier: int | str | None, method: str, result: Awaitable[Any]) -> None:
        try:
            await self._answer(identifier, result=await result)
        except Exception as error:  # noqa: BLE001 - the edge, as above
            await self._answer(identifier, error=_sendable_error(error, method))

    async def _handle_notification(self, message: dict[str, Any]) -> None:
        handler = self._handlers.get(message["method"])
        if handler is None:
            return
        try:
            result = handler(message.get("params", {}))
            if isinstance(result, Awaitable):
                await result
        except ConnectionClosed:
            return
        except Exception as error:  # noqa: BLE001 - the edge: a notification has no answer
            _sendable_error(error, message["method"])

    async def _answer(self, identifier: int | str | None, *, result: Any = None, error: RpcError | None = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": identifier}
        descriptors: list[int] = []
        if isinstance(result, WithDescriptor):
            message["descriptors"], descriptors, result = 1, [result.descriptor], result.result
        message |= {"error": error.to_object()} if error else {"result": result}
        try:
            await self._send(message, descriptors)
        except ConnectionClosed:
            return

    # -- bytes ----------------------------------------------------------------

    async def _send(self, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
        if self._closed.done():
            for descriptor in descriptors or ():
                os.close(descriptor)
            raise ConnectionClosed(self._closed.result())
        data = memoryview(dump(message))
        self._outbox.append(_Outgoing(data, descriptors or []))
        self._outbox_bytes += len(data)
        if not self._writing:
            self._write()
        if self._outbox_bytes > MAX_WAITING_BYTES:
            self._may_write.clear()
            await self._may_write.wait()
            if self._closed.done():
                raise ConnectionClosed(self._closed.result())

    def _write(self) -> None:
        try:
            self._flush()
        except OSError as error:
            self._end(f"the connection broke: {error.strerror}")
        self._set_writing(bool(self._outbox))
        if self._outbox_bytes <= MAX_WAITING_BYTES // 2:
            self._may_write.set()

    def _flush(self) -> None:
        while self._outbox:
            item = self._outbox[0]
            try:
                sent = self._channel.write(item.data, item.descriptors)
            except (BlockingIOError, InterruptedError):
                return
            for descriptor in item.descriptors:
                os.close(descriptor)
            item.descriptors = []
            item.data = item.data[sent:]
            self._outbox_bytes -= sent
            if not item.data:
                self._outbox.popleft()

    def _read(self) -> None:
        try:
            data, descriptors = self._channel.read()
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._end(f"the connection broke: {error.strerror or error}")
            return
        self._descriptors.extend(descriptors)
        if len(self._descriptors) > MAX_WAITING_DESCRIPTORS:
            self._end("too many descriptors were sent")
        elif not data:
            self._end("the other side closed in the middle of a message" if self._lines.pending else "closed")
        else:
            self._feed(data)

    def _feed(self, data: bytes) -> None:
        try:
            self._inbox.extend(self._lines.feed(data))
        except LineTooLong as error:
            refusal = RpcError(INVALID_REQUEST, str(error)).to_object()
            self._outbox.append(_Outgoing(memoryview(dump({"jsonrpc": "2.0", "id": None, "error": refusal})), []))
            self._end(str(error))
            return
        if len(self._inbox) >= MAX_WAITING_MESSAGES:
            self._set_reading(False)
        self._has_input.set()

    def _end(self, reason: str) -> None:
        """What has been read is still handled before the conversation closes."""
        self._close_reason = self._close_reason or reason
        self._ended = True
        self._set_reading(False)
        self._set_writing(False)
        self._may_write.set()
        self._has_input.set()

    def _set_reading(self, wanted: bool) -> None:
        wanted = wanted and not self._ended and not self._closed.done()
        if wanted and not self._reading:
            self._loop.add_reader(self._channel.input, self._read)
        elif self._reading and not wanted:
            self._loop.remove_reader(self._channel.input)
        self._reading = wanted

    def _set_writing(self, wanted: bool) -> None:
        wanted = wanted and not self._ended and not self._closed.done()
        if wanted and not self._writing:
            self._loop.add_writer(self._channel.output, self._write)
        elif self._writing and not wanted:
            self._loop.remove_writer(self._channel.output)
        self._writing = wanted


def _received_error(error: object) -> RpcError:
    found = error if isinstance(error, dict) else {}
    code, message = found.get("code"), found.get("message")
    return RpcError(
        code if isinstance(code, int) else INTERNAL_ERROR,
        message if isinstance(message, str) else "the other side answered with an error that is none",
        found.get("data"),
    )


def _sendable_error(error: Exception, method: str) -> RpcError:
    """Errors raised on purpose say what happened; of any other only an id goes out, and the rest into the log."""
    if isinstance(error, RpcError):
        return error
    if isinstance(error, ExecutorError):
        return RpcError(HANDLER_ERROR, error.message, {"code": error.code, "hint": error.hint})
    incident = secrets.token_hex(4)
    log.error("%s failed (%s)", method, incident, exc_info=error)
    return RpcError(INTERNAL_ERROR, f"internal error {incident}")
