"""`TypeScriptRuntime`: warm workers, sandboxes on their slots, and the lanes where types are taken out."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from executor.runtime.pool import WorkerPool
from executor.runtime.typescript import image
from executor.runtime.typescript.frames import Reply
from executor.runtime.typescript.lane import LARGE_CODE, Lane
from executor.runtime.typescript.process import Worker
from executor.runtime.typescript.sandboxes import TypeScriptSandbox


class TypeScriptRuntime(WorkerPool):
    languages: tuple[str, ...] = ("typescript",)

    def __init__(self, *, workers: int, slots: int, cache_dir: Path) -> None:
        super().__init__(workers=workers, slots=slots)
        self._cache_dir = cache_dir
        self._lane, self._large_lane = Lane(resident=True), Lane(resident=False)

    async def _ensure_image(self) -> Path:
        return await asyncio.to_thread(image.ensure, self._cache_dir)

    def _discard_image(self, image: Path) -> None:
        with contextlib.suppress(OSError):
            image.unlink(missing_ok=True)

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
