"""`TypeScriptRuntime`: warm workers, sandboxes on their slots, and the lanes where types are taken out."""

from __future__ import annotations

import asyncio
from pathlib import Path

from executor.runtime.javascript.blank_queue import LARGE_CODE, Lane
from executor.runtime.javascript.hints import advice
from executor.runtime.javascript.plain_source import plain
from executor.runtime.protocol import Program, Step
from executor.runtime.typescript import image
from executor.runtime.worker import frames
from executor.runtime.worker.frames import Reply, Source, Start
from executor.runtime.worker.pool import WorkerPool
from executor.runtime.worker.process import Place, Worker
from executor.runtime.worker.sandbox import PlacedSandbox
from executor.runtime.worker.steps import failure_of


# A TypeScript program in its place: started as it is if that is JavaScript, else once its types are taken out.
class TypeScriptSandbox(PlacedSandbox):
    def __init__(self, runtime: TypeScriptRuntime, place: Place) -> None:
        super().__init__(runtime, place)
        self._typescript = runtime
        self._launched: asyncio.Future[bytes] | None = None

    def launch(self, program: Program) -> None:
        """Sends the program ahead of `start`."""
        self._launched = self._attempt(program)

    def _attempt(self, program: Program) -> asyncio.Future[bytes] | None:
        """To run the code as it is. None if it is surely no JavaScript."""
        self._expect(program.limits, advice)
        code = program.code.encode("utf-8", "replace")
        source = plain(code) if len(code) <= LARGE_CODE else None
        return self._request(frames.encode_start(start_of(program, source, attempt=True))) if source else None

    async def _first_step(self, program: Program) -> Step:
        kind, attempt = frames.START, self._launched or self._attempt(program)
        self._launched = None
        if attempt is not None:
            reply = self._decode(await attempt)
            if reply.kind != frames.TYPED:
                return self._read(reply)
            kind = frames.RUN
        blanked = await self._typescript.blank(program.code.encode("utf-8", "replace"))
        if blanked.fault is not None:
            self._ended = True
            return Step(failure=failure_of(blanked.fault))
        start = start_of(program, frames.decode_source(blanked.output), attempt=False)
        return self._read(await self._ask(frames.encode_start(start, kind)))


def start_of(program: Program, source: Source, *, attempt: bool) -> Start:
    limits = program.limits
    bounds = (limits.memory_bytes, limits.cpu_ms, limits.calls, limits.output_bytes, limits.log_bytes)
    return Start(program.seed, program.clock_ms, *bounds, attempt, source)


class TypeScriptRuntime(WorkerPool):
    languages: tuple[str, ...] = ("typescript",)

    def __init__(self, *, workers: int, slots: int, cache_dir: Path, is_frugal: bool = False) -> None:
        super().__init__(workers=workers, slots=slots, is_frugal=is_frugal)
        self._cache_dir = cache_dir
        self._lane, self._large_lane = Lane(resident=True), Lane(resident=False)

    async def _ensure_image(self) -> Path:
        return await asyncio.to_thread(image.ensure, self._cache_dir)

    def _new_worker(self, image: Path) -> Worker:
        return Worker(image, self._slots, self._on_end, lambda place: self.turns.relieve())

    def _under_way(self) -> None:
        if not self._is_frugal:  # else with the first code that has types
            self._in_background(self._lane.start())

    async def open(self) -> TypeScriptSandbox:
        return TypeScriptSandbox(self, await self.place())

    def launch(self, program: Program) -> TypeScriptSandbox | None:
        """Not for a known hog, which has to wait for its turn."""
        place = None if self.turns.is_known(program) else self.take()
        if place is None:
            return None
        sandbox = TypeScriptSandbox(self, place)
        sandbox.launch(program)
        return sandbox

    async def blank(self, code: bytes) -> Reply:
        return await (self._lane if len(code) <= LARGE_CODE else self._large_lane).blank(code)

    async def close(self) -> None:
        await super().close()
        await asyncio.gather(self._lane.close(), self._large_lane.close())
