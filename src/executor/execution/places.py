"""Who holds a sandbox. A run that only waits gives its place up when another needs one, and replays later."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic

from executor.execution.run import Run
from executor.runtime.sandbox import Runtime, Sandbox

ROOM_SECONDS = 0.05
IDLE_SECONDS = 0.1


class Asking:
    """Calls `ask` every moment until closed. A place that is free at once costs one timer that never fires."""

    def __init__(self, ask: Callable[[], None]) -> None:
        self._ask = ask
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(ROOM_SECONDS, self._again)

    def close(self) -> None:
        self._timer.cancel()

    def _again(self) -> None:
        self._ask()
        self._timer = self._loop.call_later(ROOM_SECONDS, self._again)


class Places:
    def __init__(self, runs: Mapping[str, Run]) -> None:
        self._runs = runs

    def opener(self, runtime: Runtime) -> Callable[[], Awaitable[Sandbox]]:
        async def open_sandbox() -> Sandbox:
            asking = Asking(self.make_room)
            try:
                return await runtime.open()
            finally:
                asking.close()

        return open_sandbox

    def make_room(self) -> None:
        """Ask the run that has waited longest to rest; none if nobody is idle."""
        long_ago = monotonic() - IDLE_SECONDS
        idle = [run for run in self._runs.values() if run.idle_since is not None and run.idle_since < long_ago]
        if idle:
            min(idle, key=lambda run: run.idle_since or 0.0).rest()
