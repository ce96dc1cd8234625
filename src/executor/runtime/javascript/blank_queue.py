"""Where code waits to have its types taken out: a blanker process, seen from its parent, and the queue before it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import subprocess
from collections import deque

from executor.runtime.worker import frames
from executor.runtime.worker.frames import Fault, Reply
from executor.runtime.worker.process import Stream, launch, read_greeting, sandbox_lost
from executor.runtime.worker.seal import Layer

LARGE_CODE = 32_768  # bytes; more has a lane of its own, so that no one waits behind it
_CALL = "main(int(sys.argv[1]))"
_LARGEST = 1 << 16
_SILENCE_SECONDS = 30.0  # its CPU time is bounded in the process; this is for one that gets none
_START_SECONDS = 60.0
_IDLE_SECONDS = 30.0
_POLL_SECONDS = 0.002
_TRIES = 2
_CLOSED = "the runtime is closed"


class Died(Exception):
    """The process ended under a request. `signal` is what it died of, if it did."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.signal = number


class Blanker:
    """One process. It answers one request at a time; anyone who asks waits for the answer before the next."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stream = Stream(self._on_frame, self._on_broken, _LARGEST)
        self._answer: asyncio.Future[bytes] = self._loop.create_future()  # first of all, the greeting
        self._process: subprocess.Popen[bytes] | None = None
        self.is_dead = False
        self.layers: tuple[Layer, ...] = ()

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    async def start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = launch("javascript.blank_process", _CALL, [str(theirs.fileno())], [theirs.fileno()])
        ours.setblocking(False)
        await self._loop.create_connection(lambda: self._stream, sock=ours)
        self.layers = read_greeting(await self._wait(_START_SECONDS))

    async def ask(self, code: bytes) -> bytes:
        self._answer = self._loop.create_future()
        self._stream.largest = _LARGEST + 2 * len(code)
        self._stream.send(frames.LENGTH.pack(len(code)) + code)
        return await self._wait(_SILENCE_SECONDS)

    async def _wait(self, most: float) -> bytes:
        try:
            async with asyncio.timeout(most):
                return await self._answer
        except (TimeoutError, ConnectionError) as error:
            if isinstance(error, TimeoutError):
                self.kill()
            raise Died(await self.end()) from error

    def _on_frame(self, frame: bytes) -> None:
        if not self._answer.done():
            self._answer.set_result(frame)

    def _on_broken(self, reason: str) -> None:
        self.is_dead = True
        if not self._answer.done():
            self._answer.set_exception(ConnectionError(reason))
            self._answer.exception()

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()

    async def end(self) -> int:
        """The signal it died of, 0 if none."""
        self.is_dead = True
        process = self._process
        if process is None or process.stderr is None:
            return 0
        if self._stream.transport is not None:
            self._stream.transport.abort()
        for _ in range(int(1 / _POLL_SECONDS)):
            if process.poll() is not None:
                break
            await asyncio.sleep(_POLL_SECONDS)
        else:
            process.kill()
            await asyncio.to_thread(process.wait)
        process.stderr.close()
        return max(0, -process.returncode)


class Lane:
    """First come, first served. A `resident` lane keeps its process; another ends it when no one comes for a while."""

    def __init__(self, *, resident: bool) -> None:
        self._resident = resident
        self._blanker: Blanker | None = None
        self._queue: deque[tuple[bytes, asyncio.Future[Reply]]] = deque()
        self._work: asyncio.Task[None] | None = None
        self._idle: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int:
        return self._blanker.pid if self._blanker is not None else 0

    async def blank(self, code: bytes) -> Reply:
        """A `frames.Source` in its output, or a fault."""
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._queue.append((code, future))
        self._go_on()
        return await future

    def _go_on(self) -> None:
        if self._work is None or self._work.done():
            self._work = asyncio.get_running_loop().create_task(self._serve())

    async def start(self) -> None:
        """A process that can't be started now is tried again when it is needed."""
        with contextlib.suppress(Died, OSError, ValueError):
            await self._running()

    async def _running(self) -> Blanker:
        if self._blanker is None or self._blanker.is_dead:
            if self._blanker is not None:
                await self._blanker.end()
            self._blanker = Blanker()
            await self._blanker.start()
        return self._blanker

    async def _serve(self) -> None:
        self._rest(False)
        while self._queue:
            while self._queue:
                await self._serve_one(*self._queue.popleft())
            if self._resident:
                await self.start()  # at once, if it died: the next need not wait for it. Meanwhile others may come
        self._rest(True)

    async def _serve_one(self, code: bytes, future: asyncio.Future[Reply]) -> None:
        if future.done():
            return  # no one waits for it now
        try:
            reply = await self._ask(code)
        except (Died, OSError, ValueError) as error:
            _fail(future, f"the code could not be parsed: {error}", innocent=False)
        except asyncio.CancelledError:
            _fail(future, _CLOSED, innocent=True)
            raise
        else:
            if not future.done():
                future.set_result(reply)

    async def _ask(self, code: bytes) -> Reply:
        for _ in range(_TRIES):
            blanker = await self._running()
            try:
                return frames.decode_reply(await blanker.ask(code))
            except Died as died:
                if died.signal == signal.SIGPROF:
                    return _refusal("the code takes too long to parse")
            except (ValueError, frames.MALFORMED):
                await blanker.end()
        return _refusal("the code can't be parsed")

    def _rest(self, idle: bool) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if idle and not self._resident:
            self._idle = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._end_soon)

    def _end_soon(self) -> None:
        if self._work is None or self._work.done():
            self._work = asyncio.get_running_loop().create_task(self._end())

    async def _end(self) -> None:
        if self._blanker is not None:
            await self._blanker.end()
            self._blanker = None
        if self._queue:
            await self._serve()

    async def close(self) -> None:
        self._rest(False)
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
        for _, future in self._queue:
            _fail(future, _CLOSED, innocent=True)
        if self._blanker is not None:
            self._blanker.kill()
            await self._blanker.end()


def _fail(future: asyncio.Future[Reply], message: str, *, innocent: bool) -> None:
    if not future.done():
        future.set_exception(sandbox_lost(message, innocent=innocent))
        future.exception()  # a caller that was cancelled will not look


def _refusal(message: str) -> Reply:
    fault = Fault("syntax_error", message, "check that it is TypeScript, and shorten it", 1, 1)
    return Reply(frames.STEP, 0, fault, b"")
