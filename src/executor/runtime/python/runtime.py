"""`PythonRuntime`: warm workers, and sandboxes on their slots."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from executor.runtime.protocol import Program, Step
from executor.runtime.python import image
from executor.runtime.python.hints import advice
from executor.runtime.worker import frames
from executor.runtime.worker.frames import Reply, Source, Start
from executor.runtime.worker.pool import WorkerPool
from executor.runtime.worker.process import Worker, sandbox_lost
from executor.runtime.worker.sandbox import PlacedSandbox
from executor.runtime.worker.submitted_code import without_fence


class PythonWorker(Worker):
    main: ClassVar[str] = "python.worker_main"
    modules: ClassVar[tuple[str, ...]] = ("executor", "wasmtime")


class PythonSandbox(PlacedSandbox):
    async def _first_step(self, program: Program) -> Step:
        limits = program.limits
        self._expect(limits, advice)
        bounds = (limits.memory_bytes, limits.cpu_ms, limits.calls, limits.output_bytes, limits.log_bytes)
        code = without_fence(program.code.encode("utf-8", "replace"))
        start = Start(program.seed, program.clock_ms, *bounds, False, Source(code, 0, callable=False))
        return self._read(await self._ask(frames.encode_start(start)))

    def _read(self, reply: Reply) -> Step:
        """A sandbox that failed is a lost one: the execution is taken up on another."""
        if reply.fault is not None and reply.fault.code == "sandbox_lost":
            raise sandbox_lost(reply.fault.message, innocent=False)
        step = super()._read(reply)
        failure = step.failure
        if failure is not None and failure.code == "syntax_error" and not failure.hint:
            return replace(step, failure=replace(failure, hint=advice(f"SyntaxError: {failure.message}")))
        return step


class PythonRuntime(WorkerPool):
    languages: tuple[str, ...] = ("python",)

    def __init__(self, *, workers: int, slots: int, cache_dir: Path) -> None:
        super().__init__(workers=workers, slots=slots)
        self._cache_dir = cache_dir

    async def _ensure_image(self) -> Path:
        return await asyncio.to_thread(image.ensure, self._cache_dir)

    def _new_worker(self, image: Path) -> Worker:
        return PythonWorker(image, self._slots, self._on_end, lambda place: self.turns.relieve())

    async def open(self) -> PythonSandbox:
        return PythonSandbox(self, await self.place())
