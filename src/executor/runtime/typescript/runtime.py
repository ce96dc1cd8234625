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
from executor.runtime.worker.frames import Reply, Start
from executor.runtime.worker.pool import WorkerPool
from executor.runtime.worker.process import Place, Worker
from executor.runtime.worker.sandbox import PlacedSandbox
from executor.runtime.worker.steps import failure_of


# A TypeScript program in its place: started as it is if that is JavaScript, else once its types are taken out.
class TypeScriptSandbox(PlacedSandbox):
    def __init__(self, runtime: TypeScriptRuntime, place: Place) -> None:
        super().__init__(runtime, place)
        self._typescript = runtime

    async def _first_step(self, program: Program) -> Step:
        limits = program.limits
        self._expect(limits, advice)
        bounds = (limits.memory_bytes, limits.cpu_ms, limits.calls, limits.output_bytes, limits.log_bytes)
        code = program.code.encode("utf-8", "replace")
        kind, source = frames.START, plain(code) if len(code) <= LARGE_CODE else None
        if source is not None:
            start = Start(program.seed, program.clock_ms, *bounds, True, source)
            reply = await self._ask(frames.encode_start(start))
            if reply.kind != frames.TYPED:
                return self._read(reply)
            kind = frames.RUN
        blanked = await self._typescript.blank(code)
        if blanked.fault is not None:
            self._ended = True
            return Step(failure=failure_of(blanked.fault))
        start = Start(program.seed, program.clock_ms, *bounds, False, frames.decode_source(blanked.output))
        return self._read(await self._ask(frames.encode_start(start, kind)))


class TypeScriptRuntime(WorkerPool):
    languages: tuple[str, ...] = ("typescript",)

    def __init__(self, *, workers: int, slots: int, cache_dir: Path) -> None:
        super().__init__(workers=workers, slots=slots)
        self._cache_dir = cache_dir
        self._lane, self._large_lane = Lane(resident=True), Lane(resident=False)

    async def _ensure_image(self) -> Path:
        return await asyncio.to_thread(image.ensure, self._cache_dir)

    def _new_worker(self, image: Path) -> Worker:
        return Worker(image, self._slots, self._on_end, lambda place: self.turns.relieve())

    def _under_way(self) -> None:
        self._in_background(self._lane.start())

    async def open(self) -> TypeScriptSandbox:
        return TypeScriptSandbox(self, await self.place())

    async def blank(self, code: bytes) -> Reply:
        return await (self._lane if len(code) <= LARGE_CODE else self._large_lane).blank(code)

    async def close(self) -> None:
        await super().close()
        await asyncio.gather(self._lane.close(), self._large_lane.close())
