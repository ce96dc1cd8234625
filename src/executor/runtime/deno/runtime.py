"""`DenoRuntime`: a process for each execution, and one more in reserve, started already."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

from executor.errors import Busy, ExecutorError, SandboxLost
from executor.runtime.deno import binary
from executor.runtime.deno.process import DenoProcess
from executor.runtime.deno.sandboxes import DenoSandbox
from executor.runtime.seal import Layer
from executor.runtime.typescript.frames import Reply
from executor.runtime.typescript.lane import LARGE_CODE, Lane
from executor.runtime.typescript.process import lost

_USUAL_MEMORY = 64 << 20
_TRIES = 3


class DenoRuntime:
    """At most `processes` at a time. `memory_bytes` is what most programs may use: the reserve is started for it."""

    languages: tuple[str, ...] = ("typescript",)

    def __init__(self, *, processes: int, memory_bytes: int = _USUAL_MEMORY) -> None:
        self._places = asyncio.Semaphore(processes)
        self._memory_bytes = memory_bytes
        self._binary = binary.find()
        self._folder = Path(tempfile.mkdtemp(prefix="executor-deno-"))  # empty, and stays so: it can't be written
        self._lane, self._large_lane = Lane(resident=False), Lane(resident=False)
        self._reserve: asyncio.Task[DenoProcess] | None = None
        self._live: set[DenoProcess] = set()
        self._closing = False
        self.layers: tuple[Layer, ...] = ()

    async def start(self) -> None:
        """Returns once the first process is ready; an installation that can't start one says so here."""
        self._refill()
        try:
            if self._reserve is not None:
                await asyncio.shield(self._reserve)
        except SandboxLost as error:
            await self.close()
            raise Busy(f"no deno process can be started: {error.message}", hint="run `executor doctor`") from error

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._live if process.is_usable]

    async def open(self) -> DenoSandbox:
        if self._closing:
            raise lost("the runtime is closed", innocent=True)
        await self._places.acquire()
        return DenoSandbox(self)

    async def take(self, memory_bytes: int) -> DenoProcess:
        """The one in reserve if it was started for this much memory, else a new one."""
        if memory_bytes != self._memory_bytes:
            return await self._spawn(memory_bytes)
        for _ in range(_TRIES):
            self._refill()
            reserve, self._reserve = self._reserve, None
            if reserve is None:
                break
            process = await reserve
            self._refill()
            if process.is_usable:
                return process
            await process.ended()
        raise lost("no deno process could be started", innocent=True)

    def _refill(self) -> None:
        if not self._closing and self._reserve is None:
            self._reserve = asyncio.get_running_loop().create_task(self._spawn(self._memory_bytes))
            self._reserve.add_done_callback(self._note)

    def _note(self, task: asyncio.Task[DenoProcess]) -> None:
        """One that failed is tried again by the next who needs it."""
        if (task.cancelled() or task.exception() is not None) and self._reserve is task:
            self._reserve = None

    async def _spawn(self, memory_bytes: int) -> DenoProcess:
        process = DenoProcess(memory_bytes)
        self._live.add(process)
        try:
            await process.spawn(self._binary, self._folder)
            await process.ready()
        except OSError as error:
            self._drop(process)
            raise lost(f"the deno process could not be started: {error}", innocent=True) from error
        except (ExecutorError, asyncio.CancelledError):
            self._drop(process)
            raise
        self.layers = process.layers
        return process

    async def blank(self, code: bytes) -> Reply:
        return await (self._lane if len(code) <= LARGE_CODE else self._large_lane).blank(code)

    def release(self, process: DenoProcess | None) -> None:
        self._places.release()
        if process is not None:
            self._drop(process)

    def _drop(self, process: DenoProcess) -> None:
        process.end()
        task = asyncio.get_running_loop().create_task(process.ended())
        task.add_done_callback(lambda _: self._live.discard(process))

    async def close(self) -> None:
        self._closing = True
        if self._reserve is not None:
            self._reserve.cancel()
            await asyncio.gather(self._reserve, return_exceptions=True)
        live = list(self._live)
        for process in live:
            process.end()
        await asyncio.gather(*(process.ended() for process in live), self._lane.close(), self._large_lane.close())
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
