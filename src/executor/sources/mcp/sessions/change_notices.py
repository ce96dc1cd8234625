"""News that a source's tools have changed: passed on at once, but not more often than the catalog can bear."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PAUSE_SECONDS = 5.0
READINGS = 20  # in a row, a pause apart
RENEWAL_SECONDS = 600.0  # for each one after that: every reading may leave a new version of every tool


class Changes:
    """A server that announces changes whenever its tools are listed must not keep the catalog reading for ever."""

    def __init__(self, hook: Callable[[str], None] | None, pause_seconds: float = PAUSE_SECONDS) -> None:
        self.hook = hook
        self._pause = pause_seconds
        self._last: dict[str, tuple[float, float]] = {}  # when a source was read, and how many readings were left then
        self._waiting: dict[str, asyncio.TimerHandle] = {}

    def notify(self, source_id: str) -> None:
        loop = asyncio.get_running_loop()
        if source_id in self._waiting:
            return
        wait = self._wait(source_id, loop.time())
        if wait <= 0:
            self._pass_on(source_id)
        else:
            self._waiting[source_id] = loop.call_later(wait, self._pass_on, source_id)

    def forget(self, source_id: str) -> None:
        self._last.pop(source_id, None)
        if (timer := self._waiting.pop(source_id, None)) is not None:
            timer.cancel()

    def close(self) -> None:
        for timer in self._waiting.values():
            timer.cancel()
        self._waiting.clear()
        self.hook = None

    def _wait(self, source_id: str, now: float) -> float:
        if source_id not in self._last:
            return 0.0
        last, left = self._last[source_id]
        until_renewed = max(0.0, 1 - left) * RENEWAL_SECONDS
        return max(last + self._pause, last + until_renewed) - now

    def _pass_on(self, source_id: str) -> None:
        self._waiting.pop(source_id, None)
        now = asyncio.get_running_loop().time()
        last, left = self._last.get(source_id, (now, float(READINGS)))
        self._last[source_id] = now, max(0.0, min(READINGS, left + (now - last) / RENEWAL_SECONDS) - 1)
        if self.hook is not None:
            self.hook(source_id)
