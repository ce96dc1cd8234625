"""News that a source's tools have changed: passed on at once, but not more often than the catalog can bear."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PAUSE_SECONDS = 5.0


class Changes:
    """A server that announces changes whenever it is asked for its tools must not keep the catalog reading for ever."""

    def __init__(self, hook: Callable[[str], None] | None, pause_seconds: float = PAUSE_SECONDS) -> None:
        self.hook = hook
        self._pause = pause_seconds
        self._last: dict[str, float] = {}
        self._waiting: dict[str, asyncio.TimerHandle] = {}

    def tell(self, source_id: str) -> None:
        loop = asyncio.get_running_loop()
        if source_id in self._waiting:
            return
        due = self._last.get(source_id, -self._pause) + self._pause
        if due <= loop.time():
            self._pass_on(source_id)
        else:
            self._waiting[source_id] = loop.call_at(due, self._pass_on, source_id)

    def forget(self, source_id: str) -> None:
        self._last.pop(source_id, None)
        if (timer := self._waiting.pop(source_id, None)) is not None:
            timer.cancel()

    def close(self) -> None:
        for timer in self._waiting.values():
            timer.cancel()
        self._waiting.clear()
        self.hook = None

    def _pass_on(self, source_id: str) -> None:
        self._waiting.pop(source_id, None)
        self._last[source_id] = asyncio.get_running_loop().time()
        if self.hook is not None:
            self.hook(source_id)
