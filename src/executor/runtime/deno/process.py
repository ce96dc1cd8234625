"""One Deno process as its parent sees it: a socket, what it uses, and why it ended."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import NamedTuple

from executor.errors import SandboxLost
from executor.model.execution import Failure, Limits
from executor.runtime.deno import binary, usage
from executor.runtime.worker.frames import LENGTH
from executor.runtime.worker.process import ENDED, Stream, read_greeting, sandbox_lost
from executor.runtime.worker.seal import Layer

PRELUDE, START, RUN, ANSWER = 1, 2, 3, 4
STEP, TYPED, READY = 1, 3, 4
_BOOT = (
    "import sys; sys.path[:0] = [sys.argv.pop(1)]; from executor.runtime.deno.launch import main;"
    " main(int(sys.argv[1]), sys.argv[2:])"
)
_HOME = str(Path(__file__).parents[3])
_DATA_BYTES, _USUAL_BYTES = 1 << 30, 64 << 20  # of which V8 itself maps more than half at its start
_SLACK_BYTES = 96 << 20  # compiled code, the parser and the garbage collector
_LARGEST_READY = 1 << 16
_READY_SECONDS, _END_SECONDS, _WATCH_SECONDS = 60.0, 5.0, 0.05
_OURS = "it was ended"
# The words of V8, of Rust, of C++ and of the kernel, whichever of them asked for memory last.
_OUT_OF_MEMORY = (
    "out of memory", "OutOfMemory", "allocation failed", "memory allocation of", "bad_alloc", "annot allocate memory",
    "failed to allocate",
)  # fmt: skip
_CRASHES = (-signal.SIGABRT, -signal.SIGTRAP, -signal.SIGILL, -signal.SIGSEGV, -signal.SIGBUS)


class Spoken(NamedTuple):
    kind: int
    output: bytes
    cpu_us: int


class Overrun(Exception):
    """The program went over one of its limits, and its process was ended for it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def cpu_limit(cpu_ms: int) -> Failure:
    message = f"the code ran for more than {cpu_ms / 1000:g} s of CPU time"
    return Failure("cpu_limit", message, "look for a loop that never ends, or do less in one execution")


def memory_limit() -> Failure:
    return Failure("memory_limit", "the code exceeded its memory limit", "keep less in memory at once")


def frame(kind: int, text: bytes) -> bytes:
    return LENGTH.pack(len(text) + 1) + bytes([kind]) + text


def command(program: Path, memory_bytes: int) -> list[str]:
    data_bytes = _DATA_BYTES + max(0, memory_bytes - _USUAL_BYTES) * 2
    launcher = [sys.executable, "-I", "-S", "-c", _BOOT, _HOME, str(data_bytes)]
    return [*launcher, *binary.command(program, memory_bytes)]


def environment(folder: Path) -> dict[str, str]:
    """Nothing of the daemon's own: it may hold secrets. `folder` is empty and stays so."""
    place = str(folder)
    return {"LANG": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1", "HOME": place, "DENO_DIR": place, "TMPDIR": place}


class DenoProcess:
    """`spawn`, `ready`, then one reply for each request, in order. `end` may be called at any time."""

    def __init__(self, memory_bytes: int) -> None:
        self.memory_bytes = memory_bytes
        self.layers: tuple[Layer, ...] = ()
        self.stream = Stream(self._on_frame, self._on_broken, _LARGEST_READY)
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[asyncio.Future[Spoken]] = deque()
        self._process: subprocess.Popen[bytes] | None = None
        self.limits = Limits()
        self._verdict: Failure | None = None
        self._broken = ""
        self._cpu_from = self._cpu_last = self._memory_from = self._memory_used = 0
        self._watcher: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    @property
    def is_usable(self) -> bool:
        return not self._broken and self._process is not None and self._process.poll() is None

    # -- starting ------------------------------------------------------------------------------------------------------

    async def spawn(self, program: Path, folder: Path) -> None:
        """From the thread of the loop: the process is killed when the thread that started it ends."""
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = self._popen(program, folder, theirs)
        ours.setblocking(False)
        await self._loop.create_connection(lambda: self.stream, sock=ours)
        self._ready = self._request(frame(PRELUDE, binary.prelude().encode()))

    def _popen(self, program: Path, folder: Path, end: socket.socket) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command(program, self.memory_bytes),
            stdin=end.fileno(),
            stdout=end.fileno(),
            stderr=subprocess.PIPE,
            env=environment(folder),
            cwd=folder,
        )

    async def ready(self) -> None:
        try:
            async with asyncio.timeout(_READY_SECONDS):
                spoken = await asyncio.shield(self._ready)
        except TimeoutError as error:
            self.end()
            raise sandbox_lost("the deno process did not start in time", innocent=True) from error
        except Overrun as error:
            raise sandbox_lost(f"the deno process did not start: {error}", innocent=True) from error
        if spoken.kind != READY:
            raise self.broke("an unreadable greeting")

    # -- talking -------------------------------------------------------------------------------------------------------

    def limit(self, limits: Limits, largest: int) -> None:
        """Counting begins: what it took to start is not the program's."""
        self.limits, self.stream.largest = limits, largest
        self._cpu_from, self._memory_from = usage.cpu_ns(self.pid), usage.memory_bytes(self.pid)
        self._cpu_last = self._cpu_from
        usage.tighten(self.pid, data_bytes=limits.memory_bytes + _SLACK_BYTES, cpu_ms=limits.cpu_ms)

    async def ask(self, kind: int, text: bytes) -> Spoken:
        future = self._request(frame(kind, text))
        if self._watcher is None:
            self._watcher = self._loop.call_later(_WATCH_SECONDS, self._watch)
        return await future

    @property
    def is_over_time(self) -> bool:
        return self._cpu_last - self._cpu_from > self.limits.cpu_ms * 1_000_000

    def _request(self, data: bytes) -> asyncio.Future[Spoken]:
        if self._broken:
            raise sandbox_lost(f"the deno process is gone: {self._broken}", innocent=False)
        future: asyncio.Future[Spoken] = self._loop.create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # a caller may have left
        self._waiting.append(future)
        self.stream.send(data)
        return future

    def _on_frame(self, body: bytes) -> None:
        if not self.layers:
            try:
                self.layers = read_greeting(body)
            except ValueError:
                self._on_broken("an unreadable greeting")
            return
        if not self._waiting or not body:
            self._on_broken("an unexpected reply")
            return
        now = usage.cpu_ns(self.pid)
        spent, self._cpu_last = max(0, now - self._cpu_last), now
        future = self._waiting.popleft()
        if not future.done():
            future.set_result(Spoken(body[0], body[1:], spent // 1000))

    # -- watching ------------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        self._watcher = None
        if self._broken or not self._waiting:
            return
        usage.be_nice(self.pid)
        self._cpu_last, before = usage.cpu_ns(self.pid), self._cpu_last
        if self.is_over_time:
            self._verdict = cpu_limit(self.limits.cpu_ms)
        self._memory_used = usage.memory_bytes(self.pid) - self._memory_from
        if self._verdict is None and self._memory_used > self.limits.memory_bytes + _SLACK_BYTES:
            self._verdict = memory_limit()
        self._cpu_last = before
        if self._verdict is not None:
            self.end()
        else:
            self._watcher = self._loop.call_later(_WATCH_SECONDS, self._watch)

    # -- ending --------------------------------------------------------------------------------------------------------

    def broke(self, why: str) -> SandboxLost:
        self._on_broken(why)
        return sandbox_lost(f"the deno process broke the protocol: {why}", innocent=False)

    def end(self) -> None:
        self._on_broken(_OURS)

    def _on_broken(self, why: str) -> None:
        if self._broken:
            return
        self._broken = why
        if self._watcher is not None:
            self._watcher.cancel()
        if self._process is not None and why != ENDED:  # then it is ending anyway, and its status says why
            self._process.kill()
        if self.stream.transport is not None:
            self.stream.transport.abort()
        self._ending = self._loop.create_task(self._bury())

    async def _bury(self) -> None:
        status, said = await self._reap()
        error = self._verdict_of(status, said)
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(error)

    def _verdict_of(self, status: int, said: str) -> Exception:
        # What the kernel refuses memory may die without a word: then what it had at the last look decides.
        had_much = status in _CRASHES and self._memory_used > self.limits.memory_bytes // 2
        if self._verdict is None and (had_much or any(words in said for words in _OUT_OF_MEMORY)):
            self._verdict = memory_limit()
        if self._verdict is None and status == -signal.SIGXCPU:
            self._verdict = cpu_limit(self.limits.cpu_ms)
        if self._verdict is not None:
            return Overrun(self._verdict)
        last = said.strip().splitlines()[-1:] or [f"exit status {status}"]
        return sandbox_lost(
            f"the deno process ended: {self._broken} ({last[0][:200]})", innocent=self._broken == "it was ended"
        )

    async def _reap(self) -> tuple[int, str]:
        process = self._process
        if process is None or process.stderr is None:
            return 0, ""
        try:
            status = await asyncio.to_thread(process.wait, _END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            status = await asyncio.to_thread(process.wait)
        os.set_blocking(process.stderr.fileno(), False)
        said = (process.stderr.read(_LARGEST_READY) or b"").decode("utf-8", "replace")
        process.stderr.close()
        return status, said

    async def wait(self) -> None:
        if self._ending is not None:
            await self._ending
