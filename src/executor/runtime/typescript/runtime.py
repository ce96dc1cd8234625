"""`TypeScriptRuntime`: warm workers, and sandboxes on their slots."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from executor.errors import Busy, ExecutorError, SandboxLost
from executor.runtime.sandbox import Answer, Program, Step
from executor.runtime.seal import Layer
from executor.runtime.typescript import frames, image
from executor.runtime.typescript.frames import Answered, Start
from executor.runtime.typescript.process import Place, Worker, lost
from executor.runtime.typescript.steps import Reader, Violation, largest_reply

ABORT_SECONDS = 2.0
_GRACE_SECONDS = 60.0
_FIRST_BACKOFF, _LAST_BACKOFF = 0.05, 5.0
_HOPELESS = 4  # failed starts in a row after which nobody is kept waiting for a worker
_WATCH_SECONDS = 1.0


class TypeScriptSandbox:
    """One program in one slot. Steps may be asked for ahead; each gets its own reply, in order."""

    def __init__(self, runtime: TypeScriptRuntime, place: Place) -> None:
        self._runtime, self._place = runtime, place
        self._reader: Reader | None = None
        self._ended = self._closed = False

    async def start(self, program: Program) -> Step:
        limits = program.limits
        self._reader = Reader(limits)
        self._place.programs += 1
        self._place.stream.largest = largest_reply(limits)
        self._runtime.watch(self._place, limits.cpu_ms)
        return await self._step(
            frames.encode_start(
                Start(
                    program.seed,
                    program.clock_ms,
                    limits.memory_bytes,
                    limits.cpu_ms,
                    limits.calls,
                    limits.output_bytes,
                    limits.log_bytes,
                    program.code.encode("utf-8", "replace"),
                )
            )
        )

    async def answer(self, answer: Answer) -> Step:
        if self._reader is None:
            raise ValueError("the sandbox has not been started")
        text = answer.value if answer.value is not None else answer.error
        if text is None:
            raise ValueError("an answer needs a value or an error")
        answered = Answered(answer.clock_ms, answer.seq, answer.value is not None, text.encode("utf-8", "replace"))
        return await self._step(frames.encode_answer(answered))

    async def _step(self, frame: bytes) -> Step:
        if self._closed:
            raise lost("the sandbox is closed")
        body = await self._place.request(frame)
        try:
            reply = frames.decode_reply(body)
            if reply.kind != frames.STEP or self._reader is None:
                raise Violation("a reply of the wrong kind")
            step = self._reader.read(reply)
        except (Violation, ValueError, frames.MALFORMED) as error:
            self._place.worker.broken(f"it broke the protocol: {error}")
            raise lost("the worker process broke the protocol") from error
        self._ended = self._ended or step.ended
        return step

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._runtime.release(self._place, clean=(self._ended and not self._place.waiting) or self._reader is None)


class TypeScriptRuntime:
    """`workers` processes of `slots` programs each. `layers` is what the workers are sealed with."""

    language = "typescript"

    def __init__(self, *, workers: int, slots: int, cache_dir: Path) -> None:
        self._count, self._slots, self._cache_dir = workers, slots, cache_dir
        self._workers: list[Worker] = []
        self._gone: set[Worker] = set()
        self._queue: deque[asyncio.Future[Place]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._watched: dict[Place, float] = {}
        self._watcher: asyncio.TimerHandle | None = None
        self._failed_starts = 0
        self._hopeless: Busy | None = None
        self._closing = False
        self.layers: tuple[Layer, ...] = ()

    async def start(self) -> None:
        """Returns once every worker is under way and the first is ready."""
        path = await asyncio.to_thread(image.ensure, self._cache_dir)
        workers = [await self._spawn(path) for _ in range(self._count)]
        await asyncio.wait([worker.ready for worker in workers], return_when=asyncio.FIRST_COMPLETED)

    async def _spawn(self, image_path: Path) -> Worker:
        worker = Worker(image_path, self._slots, self._on_end)
        self._workers.append(worker)
        worker.ready.add_done_callback(lambda _: self._on_ready(worker))
        try:
            await worker.spawn()
        except OSError as error:
            worker.broken(f"it could not be started: {error}")
        return worker

    def _on_ready(self, worker: Worker) -> None:
        if not worker.is_dead:
            self.layers, self._failed_starts, self._hopeless = worker.layers, 0, None
            self._serve_queue()

    def _on_end(self, worker: Worker) -> None:
        self._workers.remove(worker)
        self._gone.add(worker)
        for place in worker.places:
            self._watched.pop(place, None)
        if not self._closing:
            self._in_background(self._replace(worker))

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _replace(self, worker: Worker) -> None:
        code = await worker.reap()
        self._gone.discard(worker)
        if worker.ready.exception() is not None:
            self._failed_starts += 1
            if self._failed_starts >= _HOPELESS:
                self._refuse_all(worker.reason)
            await asyncio.sleep(min(_FIRST_BACKOFF * 2**self._failed_starts, _LAST_BACKOFF))
        if code == frames.UNUSABLE_IMAGE:
            with contextlib.suppress(OSError):
                worker.image.unlink(missing_ok=True)
        while not self._closing:
            try:
                path = await asyncio.to_thread(image.ensure, self._cache_dir)
            except ExecutorError as error:
                self._refuse_all(error.message)
                await asyncio.sleep(_LAST_BACKOFF)
            else:
                await self._spawn(path)
                return

    def _refuse_all(self, reason: str) -> None:
        self._hopeless = Busy(f"no sandbox worker can be started: {reason}", hint="run `executor doctor`")
        while self._queue:
            future = self._queue.popleft()
            if not future.done():
                future.set_exception(self._hopeless)

    @property
    def worker_pids(self) -> list[int]:
        return [worker.pid for worker in self._workers if worker.pid]

    @property
    def open_sandboxes(self) -> int:
        return sum(len(worker.places) - len(worker.free) for worker in self._workers if worker.ready.done())

    async def open(self) -> TypeScriptSandbox:
        place = self._take()
        if place is None:
            if self._closing:
                raise lost("the runtime is closed")
            if self._hopeless is not None:
                raise self._hopeless
            future: asyncio.Future[Place] = asyncio.get_running_loop().create_future()
            self._queue.append(future)
            try:
                place = await future
            except asyncio.CancelledError:
                if future.done() and not future.cancelled():
                    self.release(future.result(), clean=True)
                raise
        return TypeScriptSandbox(self, place)

    def _take(self) -> Place | None:
        """A place on the worker with the most free ones."""
        worker = max(self._workers, key=lambda candidate: len(candidate.free), default=None)
        return worker.free.pop() if worker is not None and worker.free else None

    def _serve_queue(self) -> None:
        while self._queue:
            if self._queue[0].done():
                self._queue.popleft()
                continue
            place = self._take()
            if place is None:
                return
            self._queue.popleft().set_result(place)

    def release(self, place: Place, *, clean: bool) -> None:
        self._watched.pop(place, None)
        if place.worker.is_dead:
            return
        if clean:
            self._give_back(place)
        else:
            self._in_background(self._clear(place))

    def _give_back(self, place: Place) -> None:
        if not place.worker.is_dead and not self._closing:
            place.worker.free.append(place)
            self._serve_queue()

    async def _clear(self, place: Place) -> None:
        """Stops what still runs there. A worker that does not obey is ended."""
        if place.waiting:
            place.abort()
        try:
            async with asyncio.timeout(ABORT_SECONDS):
                await place.request(frames.encode_close())
        except TimeoutError:
            place.worker.broken("it ignored an order to stop")
        except SandboxLost:
            return
        else:
            self._give_back(place)

    def watch(self, place: Place, cpu_ms: int) -> None:
        self._watched[place] = cpu_ms / 1000 * self._slots + _GRACE_SECONDS
        if self._watcher is None:
            self._watcher = asyncio.get_running_loop().call_later(_WATCH_SECONDS, self._look)

    def _look(self) -> None:
        """The last resort: CPU time is bounded in the worker, so one that stays silent this long is broken."""
        now = asyncio.get_running_loop().time()
        for place, most in list(self._watched.items()):
            if place.waiting and now - place.since > most:
                place.worker.broken("it did not answer")
        self._watcher = None
        if self._watched and not self._closing:
            self._watcher = asyncio.get_running_loop().call_later(_WATCH_SECONDS, self._look)

    async def close(self) -> None:
        self._closing = True
        if self._watcher is not None:
            self._watcher.cancel()
        for future in self._queue:
            if not future.done():
                future.set_exception(lost("the runtime is closed"))
        for worker in list(self._workers):
            worker.broken("the runtime is closed")
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*(worker.reap() for worker in self._gone), *self._tasks, return_exceptions=True)
