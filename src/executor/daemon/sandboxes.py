"""The sandbox workers of a daemon, started before anything else: they take a moment, and another core has time."""

from __future__ import annotations

import asyncio

from executor.runtime.typescript import image
from executor.runtime.typescript.runtime import TypeScriptRuntime
from executor.settings import Settings


class Sandboxes:
    def __init__(self, settings: Settings) -> None:
        cache_dir = image.home(settings.state_dir / "sandbox")
        self.runtime = TypeScriptRuntime(workers=settings.workers, slots=settings.slots, cache_dir=cache_dir)
        self._starting = asyncio.create_task(self.runtime.start())

    async def ready(self) -> None:
        await self._starting

    async def close(self) -> None:
        self._starting.cancel()
        await asyncio.gather(self._starting, return_exceptions=True)
        await self.runtime.close()
