"""One MCP session: a process of the command for one client, and the responses that are open to that client."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress

from executor.errors import Busy, Conflict, SourceError, SourceUnreachable
from executor.sources.mcp.sessions.allowance import Allowance
from executor.sources.mcp.transports.endpoint import Endpoint
from executor.sources.mcp.transports.stdio import MAX_NOISE, Child, start_command, within
from executor.surfaces.mcp.host.message import (
    COMMAND_FAILED,
    INVALID_REQUEST,
    Id,
    Message,
    error_message,
    read_message,
)
from executor.surfaces.mcp.host.outbox import Outbox, Room
from executor.surfaces.mcp.host.routes import Routes

MAX_LINE = 10_000_000  # as of a source
MAX_CALLS = 64
ROOM = 16_000_000  # bytes on their way to the client, and as many on their way to the command
LINGER_SECONDS = 1.0  # for the last words of a command that ends
Hear = Callable[[bytes], None]
UNASKED = "no stream of the client is open on which this request could be sent"


class HostSession:
    """`on_end` is called once, when its process has ended, with the reason if it was not the client's wish."""

    def __init__(self, endpoint: Endpoint, hear: Hear, on_end: Callable[[HostSession, str], None]) -> None:
        self.id = secrets.token_urlsafe(32)
        self.last_used = asyncio.get_running_loop().time()
        self._endpoint = endpoint
        self._hear = hear
        self._on_end = on_end
        self._allowance = Allowance(MAX_LINE)
        self._routes = Routes(Room(ROOM))
        self._inbound = Room(ROOM)
        self._child: Child | None = None
        self._task: asyncio.Task[None] | None = None
        self.is_ending = False
        self.is_initialized = False

    @property
    def is_idle(self) -> bool:
        return not self._routes.has_readers

    @property
    def calls_under_way(self) -> int:
        return len(self._routes.calls)

    async def start(self) -> None:
        """Raises SourceUnreachable if the command can't be started."""
        ready = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(ready))
        await asyncio.shield(ready)

    async def stop(self) -> None:
        """Returns when everything that the command has started has ended."""
        if self._task is None:
            return
        if not self.is_ending:
            self.is_ending = True
            self._task.cancel()
        await asyncio.wait([self._task])

    def begin_call(self, request: Message) -> Outbox:
        """Where its answer will come."""
        if request.id in self._routes.calls:
            raise Conflict("a request with this ID is under way", hint="give each request an ID of its own")
        if len(self._routes.calls) >= MAX_CALLS:
            raise Busy(f"{MAX_CALLS} requests of this session are under way", hint="wait for an answer")
        self._allowance.begin_request()
        return self._routes.begin(request)

    def end_call(self, number: Id, outbox: Outbox) -> None:
        """Its response is over, or no one reads it now."""
        self._allowance.end_request()
        if self._routes.calls.get(number) is outbox:
            self._routes.lose(number)
        outbox.discard()
        self.touch()

    async def listen(self) -> Outbox:
        return await self._routes.listen()

    def unlisten(self, outbox: Outbox) -> None:
        self._routes.unlisten(outbox)
        self.touch()

    def touch(self) -> None:
        self.last_used = asyncio.get_running_loop().time()

    async def send(self, message: Message) -> None:
        """Raises SourceUnreachable if the command has ended, and Busy if it does not read: what waits takes memory,
        also when its client has left."""
        self.touch()
        child, size = self._child, len(message.data)
        if child is None:
            raise SourceUnreachable(f"{self._endpoint.display_name} has ended", hint="start a new session")
        if self._inbound.is_full:
            raise Busy("the command does not read what was sent to it", hint="try again later")
        self._inbound.give(-size)
        try:
            await child.write_line(message.data + b"\n")
        finally:
            self._inbound.give(size)
        if message.cancels is not None:
            self._routes.lose(message.cancels)

    async def _live(self, ready: asyncio.Future[None]) -> None:
        reason = ""
        try:
            async with start_command(
                self._endpoint, limit=MAX_LINE, allowance=self._allowance, log_file=None, hear=self._hear
            ) as child:
                self._child = child
                ready.set_result(None)
                await self._pump(child)
                reason = await describe_end(child, self._endpoint.display_name)
        except SourceError as error:
            reason = error.message
            if not ready.done():
                ready.set_exception(error)
        finally:
            self._child = None
            if not ready.done():
                ready.cancel()
            self._end("" if self.is_ending else reason)

    def _end(self, reason: str) -> None:
        """Each request under way gets an answer: how it went is not known, and no longer to be known."""
        text = f"{self._endpoint.display_name} has ended"
        try:
            self._routes.close({number: error_message(number, COMMAND_FAILED, text) for number in self._routes.calls})
        finally:
            self._on_end(self, reason)

    async def _pump(self, child: Child) -> None:
        noise = 0
        while line := await child.read_line():
            message = read_message(line)
            noise = 0 if message is not None else noise + 1
            if message is not None:
                await self._deliver(child, message)
            elif noise > MAX_NOISE:
                child.failure = SourceUnreachable(f"{self._endpoint.display_name} keeps printing text, not messages")
                return
            await asyncio.sleep(0)  # a flood of messages must not hold the process

    async def _deliver(self, child: Child, message: Message) -> None:
        if message.is_response:
            if (outbox := self._routes.answer(message)) is not None:
                self.is_initialized = self.is_initialized or not message.is_error
                await outbox.put(message)
                outbox.close()
            return
        outbox = self._routes.find(message)
        if outbox is not None:
            await outbox.put(message)
        elif message.is_request:
            refusal = error_message(message.id, INVALID_REQUEST, UNASKED)
            with suppress(SourceUnreachable):
                await child.write_line(refusal.data + b"\n")
        else:
            self._routes.keep(message)


async def describe_end(child: Child, where: str) -> str:
    """For the operator: what the command said at last, if it says it within a moment."""
    await within(LINGER_SECONDS, lambda: child.process.returncode is not None)
    status, failure = child.process.returncode, child.failure
    ended = failure.message if failure is not None else f"{where} ended"
    if status is not None and ended.endswith(" ended"):
        ended = f"{ended} with status {status}"
    words = child.complaints.last_words
    return f"{ended}: {words}" if words else ended
