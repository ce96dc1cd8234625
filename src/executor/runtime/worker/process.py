"""A worker process as its parent sees it: sockets to its slots, one for control, and its end."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, cast

from executor.errors import SandboxLost
from executor.runtime.worker import frames
from executor.runtime.worker.seal import Layer

_MODULES = ("executor", "tree_sitter", "tree_sitter_typescript", "wasmtime")
_BOOT = "import sys; sys.path[:0] = sys.argv.pop().split({!r}); from executor.runtime.{} import main; {}"
_CALL = "main(sys.argv[1], int(sys.argv[2]), [int(n) for n in sys.argv[3].split(',')])"
# Few arenas and no bytecode writing. Nothing of the daemon's own environment: it may hold secrets.
_ENVIRONMENT = {"LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "2", "PYTHONDONTWRITEBYTECODE": "1"}
_LARGEST_READY = 65536
_END_SECONDS = 2.0
ENDED = "the connection ended"


def sandbox_lost(message: str, *, innocent: bool) -> SandboxLost:
    """`innocent`: what happened is surely no fault of this program, so it need not be counted against it."""
    return SandboxLost(message, hint="the execution continues on another worker", innocent=innocent)


class Evicted(SandboxLost):
    """The program has burnt much CPU time while others wait: its place is needed."""


def launch(
    module: str, call: str, arguments: list[str], descriptors: list[int], modules: tuple[str, ...] = _MODULES
) -> subprocess.Popen[bytes]:
    """Starts `main` of a module of a runtime as a process. It is killed when the calling *thread* ends.

    `modules` are the packages that it imports.
    """
    command = [sys.executable, "-I", "-S", "-c", _BOOT.format(os.pathsep, module, call), *arguments]
    return subprocess.Popen(
        [*command, os.pathsep.join(_module_directories(modules))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=_ENVIRONMENT,
        pass_fds=descriptors,
        cwd="/",
    )


def _module_directories(modules: tuple[str, ...]) -> list[str]:
    """Where a worker finds what it imports; it starts without `site`, which saves memory and time."""
    found: dict[str, None] = {}
    for name in modules:
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            raise ImportError(f"{name} is not installed")
        found[str(Path(spec.submodule_search_locations[0]).parent)] = None
    return list(found)


def read_greeting(frame: bytes) -> tuple[Layer, ...]:
    rows = [line.split("\t") for line in frame.decode().split("\n")]
    return tuple(Layer(name, active == "1", detail) for name, active, detail in rows)


class Stream(asyncio.Protocol):
    """Frames of one socket. `largest` bounds the next frame; a longer one breaks the stream."""

    def __init__(self, on_frame: Callable[[bytes], None], on_broken: Callable[[str], None], largest: int) -> None:
        self._on_frame, self._on_broken, self.largest = on_frame, on_broken, largest
        self._buffer = bytearray()
        self.transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.WriteTransport, transport)  # uvloop's own class is no subclass of it

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        while len(buffer) >= 4:
            size = int.from_bytes(buffer[:4], "little")
            if size > self.largest:
                self._on_broken(f"a frame of {size} bytes")
                return
            if len(buffer) < size + 4:
                return
            frame = bytes(buffer[4 : size + 4])
            del buffer[: size + 4]
            self._on_frame(frame)

    def connection_lost(self, error: Exception | None) -> None:
        self._on_broken(ENDED)

    def send(self, data: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    def send_all(self, data: Sequence[bytes]) -> None:
        """With one system call, which wakes the other side once."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.writelines(data)


class Place:
    """One slot of a worker, on the parent's side. Replies come back in the order of the frames sent."""

    def __init__(self, worker: Worker, index: int) -> None:
        self.worker, self.index = worker, index
        self.programs = 0
        self.waiting: deque[asyncio.Future[bytes]] = deque()
        self.stream = Stream(self._on_frame, lambda reason: worker.broken(reason, self), _LARGEST_READY)
        self.since = 0.0
        self.idle_looks = 0  # in a row, at a worker that owes a reply
        self.hog_since: float | None = None
        self.is_settled = False  # a hog that has waited for its turn, and keeps its place

    def request(self, frame: bytes) -> asyncio.Future[bytes]:
        if self.worker.is_dead:
            raise sandbox_lost("the worker process is gone", innocent=self is not self.worker.culprit)
        loop = self.worker.loop
        future: asyncio.Future[bytes] = loop.create_future()
        if not self.waiting:
            self.since = loop.time()
        self.waiting.append(future)
        self.stream.send(frame)
        return future

    def request_all(self, requests: Sequence[bytes]) -> list[asyncio.Future[bytes]]:
        """As `request` for each, but sent together."""
        if self.worker.is_dead:
            raise sandbox_lost("the worker process is gone", innocent=self is not self.worker.culprit)
        loop = self.worker.loop
        if not self.waiting:
            self.since = loop.time()
        futures: list[asyncio.Future[bytes]] = [loop.create_future() for _ in requests]
        self.waiting.extend(futures)
        self.stream.send_all(requests)
        return futures

    def _on_frame(self, frame: bytes) -> None:
        if not self.waiting:
            self.worker.broken("an unexpected reply", self)
            return
        future = self.waiting.popleft()
        self.since = self.worker.loop.time()
        if not future.done():
            future.set_result(frame)

    def abort(self) -> None:
        self.worker.control.send(frames.encode_abort(self.index, self.programs))

    def evict(self) -> None:
        """Ends the steps under way; their replies are ignored. The one who takes the place back ends the code."""
        self.hog_since = None
        for future in self.waiting:
            _fail(future, Evicted("others are waiting for the slot", hint="it will be started again", innocent=True))

    def fail(self, message: str, *, innocent: bool) -> None:
        while self.waiting:
            _fail(self.waiting.popleft(), sandbox_lost(message, innocent=innocent))


def _fail(future: asyncio.Future[bytes], error: SandboxLost) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # a caller that was cancelled will not look


class Worker:
    """`ready` is done when the worker has sealed itself; `on_end` is called once, when it is gone.

    `on_hog` is called when a program has burnt much CPU time. `culprit` is the place whose program ended the worker.
    `main` is the module that it runs, and `modules` are the packages that this imports.
    """

    main: ClassVar[str] = "typescript.worker_main"
    modules: ClassVar[tuple[str, ...]] = _MODULES

    def __init__(
        self, image: Path, slots: int, on_end: Callable[[Worker], None], on_hog: Callable[[Place], None]
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.image, self._on_end, self._on_hog = image, on_end, on_hog
        self.culprit: Place | None = None
        self.is_dead = False
        self.reason = ""
        self.layers: tuple[Layer, ...] = ()
        self.ready: asyncio.Future[None] = self.loop.create_future()
        self.ready.add_done_callback(lambda future: future.cancelled() or future.exception())
        self.control = Stream(self._on_control, self.broken, _LARGEST_READY)
        self.places = [Place(self, index) for index in range(slots)]
        self.free: list[Place] = []
        self.most_at_once = 0  # programs that it had
        self.is_retired = False  # ended on purpose, and not replaced
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    async def spawn(self) -> None:
        pairs = [socket.socketpair() for _ in range(len(self.places) + 1)]
        theirs = [pair[1] for pair in pairs]
        try:
            # Started from this thread: a worker is killed when the thread that started it ends.
            self._process = self._popen([end.fileno() for end in theirs])
        finally:
            for end in theirs:
                end.close()
        # Control comes last: when the worker's greeting is read, a program may be sent to every place.
        streams = [*(place.stream for place in self.places), self.control]
        unconnected = [pair[0] for pair in (*pairs[1:], pairs[0])]
        try:
            for stream in streams:
                await self._connect(unconnected[0], stream)
                del unconnected[0]
        finally:
            for end in unconnected:  # only when the runtime is closed meanwhile
                end.close()

    async def _connect(self, end: socket.socket, stream: Stream) -> None:
        end.setblocking(False)
        await self.loop.create_connection(lambda: stream, sock=end)
        if self.is_dead and stream.transport is not None:
            stream.transport.abort()

    def _popen(self, descriptors: list[int]) -> subprocess.Popen[bytes]:
        control, *slots = descriptors
        arguments = [str(self.image), str(control), ",".join(map(str, slots))]
        return launch(self.main, _CALL, arguments, descriptors, self.modules)

    def _on_control(self, frame: bytes) -> None:
        try:
            if self.ready.done():
                self._note_hog(*frames.decode_control(frame))
            else:
                self.layers = read_greeting(frame)
        except (ValueError, IndexError, frames.MALFORMED):
            self.broken("an unreadable greeting or notice")
            return
        if not self.ready.done():
            self.free = list(self.places)
            self.ready.set_result(None)

    def _note_hog(self, kind: int, index: int, number: int) -> None:
        place = self.places[index]
        if kind == frames.HOG and number == place.programs and place.waiting:
            place.hog_since = self.loop.time()
            self._on_hog(place)

    def broken(self, reason: str, culprit: Place | None = None) -> None:
        """Any disorder ends the whole worker: nothing it says can be believed from then on.

        If it was not stopped from here, any program that was running may have ended it.
        """
        if self.is_dead:
            return
        self.is_dead, self.reason = True, reason
        self.culprit = culprit if reason != ENDED else None
        if reason != ENDED:  # then it is ending anyway, with an exit code that says why
            self.kill()
        self.free.clear()
        if not self.ready.done():
            self.ready.set_exception(sandbox_lost(f"the worker process did not start: {reason}", innocent=True))
        for place in self.places:
            place.fail(f"the worker process ended: {reason}", innocent=reason != ENDED and place is not self.culprit)
        for stream in (self.control, *(place.stream for place in self.places)):
            if stream.transport is not None:
                stream.transport.abort()
        self._on_end(self)

    @property
    def is_running(self) -> bool:
        """A thread of it wants a processor: it is at work, however long it has been silent."""
        try:
            tasks = Path(f"/proc/{self.pid}/task").iterdir()
            return any((task / "stat").read_bytes().rpartition(b") ")[2][:1] == b"R" for task in tasks)
        except OSError:
            return False

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()

    async def reap(self) -> int:
        """The exit code. A process that does not exit is killed."""
        process = self._process
        if process is None or process.stderr is None:
            return 0
        try:
            code = await asyncio.to_thread(process.wait, _END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            code = await asyncio.to_thread(process.wait)
        if not process.stderr.closed:
            os.set_blocking(process.stderr.fileno(), False)
            said = (process.stderr.read(_LARGEST_READY) or b"").decode("utf-8", "replace").strip()
            process.stderr.close()
            self.reason = said.splitlines()[-1] if said else self.reason
        return code
