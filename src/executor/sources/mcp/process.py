"""A server started as a command: messages are lines on its standard input and output.

It gets an environment of its own and a process group of its own, so that whatever it starts ends with it. What it
prints is bounded: one line is at most one answer, and noise between messages is skipped for a while, not for ever.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from executor.errors import SourceError, SourceUnreachable
from executor.sources.mcp.endpoint import Endpoint, child_environment
from executor.sources.mcp.exchange import CURRENT
from executor.sources.mcp.stderr import Complaints

MAX_NOISE = 10_000  # lines that are no messages, one after the other
EXIT_SECONDS = 1.0
TERM_SECONDS = 2.0
POLL_SECONDS = 0.01


class Child:
    """A running command, as the pair of streams that the SDK's dispatcher reads and writes."""

    def __init__(self, process: Process, endpoint: Endpoint, limit: int, complaints: Complaints) -> None:
        self.process = process
        self.complaints = complaints
        self.failure: SourceError | None = None
        self.noise = 0
        self._where = endpoint.shown
        self._limit = limit

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        """The next message. Yields to others each time: a flood of messages must not hold the process."""
        await asyncio.sleep(0)
        in_a_row = 0
        while line := await self._line():
            message = read_message(line)
            if message is not None:
                return message
            self.noise += 1
            in_a_row += 1
            if in_a_row > MAX_NOISE:
                self.failure = self._lost("prints what are no messages, without end", "protocol")
                break
            await asyncio.sleep(0)
        raise StopAsyncIteration

    receive = __anext__

    async def send(self, item: SessionMessage) -> None:
        """Runs in the task of whoever sends, so that it is known which request has left."""
        pipe = self.process.stdin
        assert pipe is not None  # noqa: S101 - tells the type
        data = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        is_refused = pipe.is_closing()
        if not is_refused:
            is_next = not pipe.transport.get_write_buffer_size()
            pipe.write(data)
            is_refused = is_next and pipe.is_closing()  # tried at once: nobody reads it any more
        if is_refused:
            raise SourceUnreachable(f"{self._where} has ended", hint="try again", reason="connect", sent=False)
        if (exchange := CURRENT.get()) is not None:
            exchange.sent = True
        with suppress(ConnectionError):  # the end of its output tells it better
            await pipe.drain()

    async def aclose(self) -> None:
        """Both directions end together, when the command is stopped."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _line(self) -> bytes:
        assert self.process.stdout is not None  # noqa: S101 - tells the type
        try:
            return await self.process.stdout.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            self.failure = self.failure or self._lost("ended", "closed")
        except asyncio.LimitOverrunError:
            message = f"answered with more than {self._limit:,} bytes, so that its connection was dropped"
            self.failure = self._lost(message, "too_large")
        except OSError:
            self.failure = self.failure or self._lost("can no longer be read", "closed")
        return b""

    def _lost(self, what: str, reason: str) -> SourceUnreachable:
        told = f"see why in {log}" if (log := self.complaints.log) else "run it in a terminal to see why"
        hint = "ask for less: a page, a filter or a smaller range" if reason == "too_large" else told
        return SourceUnreachable(f"{self._where} {what}", hint=hint, reason=reason, sent=True)


def read_message(line: bytes) -> SessionMessage | None:
    """None for noise. A message that only a strict reader refuses (half surrogate pairs, say) is no noise."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        if not line.lstrip().startswith(b"{"):
            return None
    try:
        value: Any = json.loads(line.decode("utf-8", "replace"))
        text = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except (ValueError, RecursionError):
        return None


@asynccontextmanager
async def started(endpoint: Endpoint, *, limit: int, log_file: Path | None) -> AsyncIterator[Child]:
    """Raises SourceUnreachable if the command can't be started."""
    try:
        process = await asyncio.create_subprocess_exec(
            *endpoint.command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=child_environment(endpoint, os.environ),
            cwd=endpoint.directory or None,
            start_new_session=True,
            limit=limit,
        )
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SourceUnreachable(
            f"{endpoint.shown} can't be started: {told}",
            hint="check that it is installed where the daemon can find it, or give its full path",
            reason="command",
            sent=False,
        ) from error
    complaints = Complaints(log_file)
    assert process.stderr is not None  # noqa: S101 - tells the type
    listening = asyncio.create_task(complaints.collect(process.stderr))
    try:
        yield Child(process, endpoint, limit, complaints)
    finally:
        await stop(process, listening)


async def stop(process: Process, listening: asyncio.Task[None]) -> None:
    """Ask by closing its input, then end the whole group: what it has started must not outlive it."""
    ending = asyncio.ensure_future(end_group(process))
    try:
        await asyncio.shield(ending)
    except asyncio.CancelledError:
        kill_group(process.pid, signal.SIGKILL)
        await ending
        raise
    finally:
        listening.cancel()
        transport = getattr(process, "_transport", None)
        if transport is not None:  # a descendant that left the group may hold the pipes open
            transport.close()


async def end_group(process: Process) -> None:
    assert process.stdin is not None  # noqa: S101 - tells the type
    process.stdin.close()
    await within(EXIT_SECONDS, lambda: process.returncode is not None)
    kill_group(process.pid, signal.SIGTERM)
    if not await within(TERM_SECONDS, lambda: process.returncode is not None and not kill_group(process.pid, 0)):
        kill_group(process.pid, signal.SIGKILL)
        await within(TERM_SECONDS, lambda: process.returncode is not None)


async def within(seconds: float, is_so: Callable[[], bool]) -> bool:
    """By looking: to wait for a process would also wait for pipes that a descendant may hold."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not is_so():
        if asyncio.get_running_loop().time() >= deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True


def kill_group(pid: int, number: int) -> bool:
    """False if the group has no member left."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
