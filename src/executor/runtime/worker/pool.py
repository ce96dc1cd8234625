"""A pool of worker processes with slots: kept warm, watched, replaced when they die."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from executor.errors import Busy, ExecutorError, SandboxLost
from executor.runtime.worker import frames
from executor.runtime.worker.process import Place, Worker, sandbox_lost
from executor.runtime.worker.scheduler import Scheduler
from executor.runtime.worker.seal import Layer

ABORT_SECONDS = 10.0  # a program that was slowed down may take seconds to notice on a busy machine
_GRACE_SECONDS = 60.0
_MOST_PATIENCE, _MOST_IDLE_LOOKS = 20, 3
_FIRST_BACKOFF, _LAST_BACKOFF = 0.05, 5.0
_HOPELESS = 4  # failed starts in a row after which no one is kept waiting for a worker
_WATCH_SECONDS = 1.0
_REST_SECONDS = 60.0  # after which a worker that was busy and has nothing to do is exchanged for a fresh one
_FEW = 2  # programs at once that leave nothing behind worth an exchange


class WorkerPool(ABC):
    """`workers` processes of `slots` programs each. `layers` is what the workers are sealed with. One that is frugal
    starts a single worker, and the others once two programs run at the same time."""

    def __init__(self, *, workers: int, slots: int, is_frugal: bool = False) -> None:
        self._count, self._slots = workers, slots
        self._is_frugal = is_frugal
        self._absent = 0  # workers that were not needed yet
        self._workers: list[Worker] = []
        self._gone: set[Worker] = set()
        self.turns = Scheduler(self._workers, workers * slots)
        self._tasks: set[asyncio.Task[None]] = set()
        self._watched: dict[Place, float] = {}
        self._watcher: asyncio.TimerHandle | None = None
        self._failed_starts = 0
        self._hopeless: Busy | None = None
        self._rest: asyncio.TimerHandle | None = None
        self._closing = False
        self.layers: tuple[Layer, ...] = ()

    @abstractmethod
    async def _ensure_image(self) -> Path:
        """The file that workers run, made if it is not there. Raises an `ExecutorError` if it can't be."""

    @abstractmethod
    def _new_worker(self, image: Path) -> Worker: ...

    def _under_way(self) -> None:  # noqa: B027 - a runtime may have more to start
        """The workers are starting, and none is ready yet."""

    async def start(self) -> None:
        """Returns once every worker that is started now is under way and the first is ready."""
        path = await self._ensure_image()
        self._absent = self._count - 1 if self._is_frugal else 0
        workers = [await self._spawn(path) for _ in range(self._count - self._absent)]
        self._under_way()
        await asyncio.wait([worker.ready for worker in workers], return_when=asyncio.FIRST_COMPLETED)

    async def _spawn(self, image_path: Path) -> Worker:
        worker = self._new_worker(image_path)
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
            self.turns.serve()

    def _on_end(self, worker: Worker) -> None:
        self._workers.remove(worker)
        self._gone.add(worker)
        for place in worker.places:
            self._watched.pop(place, None)
        if not self._closing and not worker.is_retired:
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
                path = await self._ensure_image()
            except ExecutorError as error:
                self._refuse_all(error.message)
                await asyncio.sleep(_LAST_BACKOFF)
            else:
                await self._spawn(path)
                return

    def _refuse_all(self, reason: str) -> None:
        self._hopeless = Busy(f"no sandbox worker can be started: {reason}", hint="run `executor doctor`")
        self.turns.refuse_all(self._hopeless)

    @property
    def worker_pids(self) -> list[int]:
        return [worker.pid for worker in self._workers if worker.pid]

    @property
    def open_sandboxes(self) -> int:
        return sum(len(worker.places) - len(worker.free) for worker in self._workers if worker.ready.done())

    def take(self) -> Place | None:
        """A free place, if there is one."""
        place = self.turns.take()
        if self._absent and (place is None or place.worker.most_at_once >= _FEW):
            self._in_background(self._start_absent())
        return place

    async def _start_absent(self) -> None:
        absent, self._absent = self._absent, 0
        try:
            path = await self._ensure_image()
        except ExecutorError:
            self._absent = absent  # the next program tries again
            return
        for _ in range(absent):
            await self._spawn(path)

    async def place(self) -> Place:
        taken = self.take()
        return taken if taken is not None else await self._wait(hog=False)

    async def hog_place(self) -> Place:
        return await self._wait(hog=True)

    async def _wait(self, *, hog: bool) -> Place:
        if self._closing:
            raise sandbox_lost("the runtime is closed", innocent=True)
        if self._hopeless is not None:
            raise self._hopeless
        return await self.turns.wait(lambda place: self.release(place, clean=True), hog=hog)

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
            self.turns.forget(place)
            place.worker.free.append(place)
            self.turns.serve()
            if self._rest is None and place.worker.most_at_once > _FEW:
                self._rest = asyncio.get_running_loop().call_later(_REST_SECONDS, self._look_for_rest)

    # -- after a burst -------------------------------------------------------------------------------------------------

    def _look_for_rest(self) -> None:
        """What a burst has left behind, interpreters and memory, goes with the worker that has it."""
        self._rest = None
        used = [worker for worker in self._workers if worker.most_at_once > _FEW and worker.ready.done()]
        idle = [worker for worker in used if is_idle(worker)]
        if idle and not self._closing and len(self._workers) == self._count:
            self._in_background(self._exchange(idle[0]))
        if used and not self._closing:
            self._rest = asyncio.get_running_loop().call_later(_REST_SECONDS, self._look_for_rest)

    async def _exchange(self, worker: Worker) -> None:
        """The fresh one comes first, so that there is never a place less."""
        fresh = await self._spawn(worker.image)
        await asyncio.wait([fresh.ready])
        while len(self._workers) > self._count and not self._closing:
            for one in (worker, fresh):
                if not one.is_dead and is_idle(one):
                    one.is_retired = True
                    one.broken("it is no longer needed")
                    await one.reap()
                    self._gone.discard(one)
                    return
            await asyncio.sleep(_WATCH_SECONDS)

    async def _clear(self, place: Place) -> None:
        """Stops what still runs there. A worker that does not obey is ended."""
        if place.waiting:
            place.abort()
        try:
            async with asyncio.timeout(ABORT_SECONDS):
                await place.request(frames.encode_close())
        except TimeoutError:
            place.worker.broken("it ignored an order to stop", place)
        except SandboxLost:
            return
        else:
            self._give_back(place)

    def watch(self, place: Place, cpu_ms: int) -> None:
        self._watched[place] = cpu_ms / 1000 * self._slots + _GRACE_SECONDS
        if self._watcher is None:
            self._watcher = asyncio.get_running_loop().call_later(_WATCH_SECONDS, self._look)

    def _look(self) -> None:
        """The last resort: CPU time is bounded in the worker, so one that stays silent this long is broken.

        On a busy machine a program that was slowed down gets its CPU time late: one that still runs has longer.
        """
        now = asyncio.get_running_loop().time()
        for place, most in list(self._watched.items()):
            silent = now - place.since if place.waiting else 0
            place.idle_looks = place.idle_looks + 1 if silent > most and not place.worker.is_running else 0
            if place.idle_looks > _MOST_IDLE_LOOKS or silent > _MOST_PATIENCE * most:
                place.worker.broken("it did not answer", place)
        self._watcher = None
        if self._watched and not self._closing:
            self._watcher = asyncio.get_running_loop().call_later(_WATCH_SECONDS, self._look)

    async def close(self) -> None:
        self._closing = True
        for timer in filter(None, (self._watcher, self._rest)):
            timer.cancel()
        self.turns.refuse_all(sandbox_lost("the runtime is closed", innocent=True))
        for worker in list(self._workers):
            worker.broken("the runtime is closed")
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*(worker.reap() for worker in self._gone), *self._tasks, return_exceptions=True)


def is_idle(worker: Worker) -> bool:
    return len(worker.free) == len(worker.places)
