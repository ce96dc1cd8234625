"""A server started as a command: messages are lines on its standard input and output.

It gets an environment of its own and a supervisor of its own, so that whatever it starts ends with it. What it prints
is bounded: one line is at most one answer, and noise between messages is skipped for a while, not for ever. What is
written to it is bounded too: nothing is, before it has taken what came before.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO, Any

from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from executor.errors import SourceError, SourceUnreachable
from executor.network.departure import check_departure
from executor.sources.mcp.sessions.allowance import READ_COST, Allowance
from executor.sources.mcp.sessions.exchange import CURRENT
from executor.sources.mcp.transports import supervisor
from executor.sources.mcp.transports.endpoint import Endpoint, child_environment
from executor.sources.mcp.transports.stream import MessageStream

# What a command says on its standard error: kept for people, bounded, never shown to code.
TAIL = 4_000
MAX_LOG = 1_000_000
CHUNK = 65_536


class Complaints:
    """The last words in memory, all of it (up to a limit) in a file that only the owner reads."""

    def __init__(self, log_file: Path | None, hear: Callable[[bytes], None] | None = None) -> None:
        self._file = log_file
        self._hear = hear
        self._tail = b""

    @property
    def last_words(self) -> str:
        """Fit for a message to an operator: at most five lines, no control characters."""
        lines = self._tail.decode("utf-8", "replace").splitlines()
        shown = ["".join(c if c.isprintable() else " " for c in line).strip()[:300] for line in lines]
        return " | ".join([line for line in shown if line][-5:])

    @property
    def log(self) -> Path | None:
        """Where it can be read, if anything was said."""
        return self._file if self._tail else None

    async def collect(self, stream: asyncio.StreamReader, allowance: Allowance) -> None:
        log = open_log(self._file) if self._file is not None else None
        room = MAX_LOG
        try:
            while part := await stream.read(CHUNK):
                self._tail = (self._tail + part)[-TAIL:]
                if self._hear is not None:
                    self._hear(part)
                if log is not None and room > 0:
                    log.write(part[:room])
                    log.flush()
                    room -= len(part)
                await allowance.spend(len(part) + READ_COST)
        finally:
            if log is not None:
                log.close()


def open_log(path: Path) -> IO[bytes] | None:
    """The log of the run before stays beside it; a directory that can't be written costs only the log."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists():
            path.replace(path.with_suffix(".old.log"))
        path.touch(mode=0o600)
        return path.open("wb")
    except OSError:
        return None


MAX_NOISE = 10_000  # lines that are no messages, one after the other
EXIT_SECONDS = 1.0
TERM_SECONDS = 2.0
KILL_SECONDS = 5.0
POLL_SECONDS = 0.01


class Child(MessageStream):
    """A running command."""

    def __init__(
        self, process: Process, endpoint: Endpoint, limit: int, allowance: Allowance, complaints: Complaints
    ) -> None:
        self.process = process
        self.complaints = complaints
        self.failure: SourceError | None = None
        self._where = endpoint.display_name
        self._limit = limit
        self._allowance = allowance
        self._turn = asyncio.Lock()

    async def __anext__(self) -> SessionMessage | Exception:
        """The next message. Yields to others each time: a flood of messages must not hold the process."""
        await asyncio.sleep(0)
        in_a_row = 0
        while line := await self.read_line():
            message = read_message(line)
            if message is not None:
                return message
            in_a_row += 1
            if in_a_row > MAX_NOISE:
                self.failure = self._lost_error("keeps printing text that is not a message", "protocol")
                break
            await asyncio.sleep(0)
        raise StopAsyncIteration

    async def send(self, item: SessionMessage) -> None:
        """Runs in the task of anyone who sends, so that it is known which request has left."""
        await self.write_line(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    async def write_line(self, data: bytes) -> None:
        pipe = self.process.stdin
        assert pipe is not None  # noqa: S101 - for the type checker
        async with self._turn:
            check_departure()
            is_refused = pipe.is_closing()
            if not is_refused:
                pipe.write(data)
                is_refused = pipe.is_closing()  # tried at once: no one reads it now
            if is_refused:
                raise SourceUnreachable(f"{self._where} has ended", hint="try again", reason="connect", sent=False)
            if (exchange := CURRENT.get()) is not None:
                exchange.sent = True
            with suppress(ConnectionError):  # the end of its output says it better
                await pipe.drain()

    async def read_line(self) -> bytes:
        """Empty at the end; `failure` then says why."""
        assert self.process.stdout is not None  # noqa: S101 - for the type checker
        try:
            line = await self.process.stdout.readuntil(b"\n")
            await self._allowance.spend(len(line) + READ_COST)
            return line
        except asyncio.IncompleteReadError:
            self.failure = self.failure or self._lost_error("ended", "closed")
        except asyncio.LimitOverrunError:
            message = f"answered with more than {self._limit:,} bytes, so the connection was closed"
            self.failure = self._lost_error(message, "too_large")
        except OSError:
            self.failure = self.failure or self._lost_error("can no longer be read", "closed")
        return b""

    def _lost_error(self, what: str, reason: str) -> SourceUnreachable:
        hint = f"see why in {log}" if (log := self.complaints.log) else "run it in a terminal to see why"
        hint = "request less: a page, a filter or a smaller range" if reason == "too_large" else hint
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
async def start_command(
    endpoint: Endpoint,
    *,
    limit: int,
    allowance: Allowance,
    log_file: Path | None,
    hear: Callable[[bytes], None] | None = None,
) -> AsyncIterator[Child]:
    """Raises SourceUnreachable if the command can't be started. `hear` gets what it says on its standard error."""
    line, their_end = socket.socketpair()
    with line:
        with their_end:
            process = await launch(endpoint, limit, their_end)
        complaints = Complaints(log_file, hear)
        assert process.stderr is not None  # noqa: S101 - for the type checker
        listening = asyncio.create_task(complaints.collect(process.stderr, allowance))
        try:
            await check_start(endpoint, line)
            yield Child(process, endpoint, limit, allowance, complaints)
        finally:
            await stop(process, line, listening)


async def launch(endpoint: Endpoint, limit: int, their_end: socket.socket) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", supervisor.__file__, str(their_end.fileno())),
            *endpoint.command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=child_environment(endpoint, os.environ),
            cwd=endpoint.directory or None,
            start_new_session=True,
            pass_fds=(their_end.fileno(),),
            limit=limit,
        )
    except (OSError, ValueError) as error:
        hint = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise not_started(endpoint, hint) from error


async def check_start(endpoint: Endpoint, line: socket.socket) -> None:
    """The supervisor says at once how it went."""
    line.setblocking(False)
    said = await asyncio.get_running_loop().sock_recv(line, 16)
    if said.strip() != b"0":
        known = said.strip().isdigit()
        raise not_started(endpoint, os.strerror(int(said)) if known else "its supervisor ended")


def not_started(endpoint: Endpoint, why: str) -> SourceUnreachable:
    return SourceUnreachable(
        f"{endpoint.display_name} can't be started: {why}",
        hint="check that the daemon can find it, or use its full path",
        reason="command",
        sent=False,
    )


async def stop(process: Process, line: socket.socket, listening: asyncio.Task[None]) -> None:
    """Ask by closing its input, then by a signal, then end all that is left: nothing must outlive it."""
    ending = asyncio.ensure_future(end(process, line))
    try:
        await asyncio.shield(ending)
    except asyncio.CancelledError:
        line.close()
        await ending
        raise
    finally:
        listening.cancel()
        transport = getattr(process, "_transport", None)
        if transport is not None:  # what became another user's may hold the pipes open
            transport.close()


async def end(process: Process, line: socket.socket) -> None:
    assert process.stdin is not None  # noqa: S101 - for the type checker
    process.stdin.close()

    def has_ended() -> bool:
        return process.returncode is not None or line.fileno() < 0

    if not await within(EXIT_SECONDS, has_ended):
        with suppress(OSError):
            line.send(b"t")
        await within(TERM_SECONDS, has_ended)
    line.close()
    await within(KILL_SECONDS, lambda: process.returncode is not None)
    if process.returncode is None or process.returncode < 0:  # the supervisor hangs, or someone killed it
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


async def within(seconds: float, is_so: Callable[[], bool]) -> bool:
    """By looking: to wait for a process would also wait for pipes that a descendant may hold."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not is_so():
        if asyncio.get_running_loop().time() >= deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True
