"""Executor processes that were started before a session needs one. Each waits for its settings and does nothing; when
the daemon ends, in whatever way, the pipe that they would come over closes, and the process ends too."""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
from collections import deque
from contextlib import suppress
from pathlib import Path

from executor.sessions.processes.process import Spawned, discard, spawn

FILL_SECONDS = 2.0  # after one was taken: the session that took it starts its agent meanwhile
logger = logging.getLogger(__name__)


class PreparedProcesses:
    """At most `wanted` of them, from the first session on. Those that no one needs for `idle_seconds` are ended."""

    def __init__(self, wanted: int, folder: Path, idle_seconds: float) -> None:
        self._wanted = wanted
        self._folder = folder
        self._idle_seconds = idle_seconds
        self._ready: deque[Spawned] = deque()
        self._filling: asyncio.Task[None] | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()
        if wanted:
            shutil.rmtree(folder, ignore_errors=True)  # of a daemon that was killed

    @property
    def pids(self) -> list[int]:
        return [one.child.pid for one in self._ready]

    def fill(self, after: float = 0.0) -> None:
        """In the background."""
        if self._wanted and (self._filling is None or self._filling.done()):
            self._filling = asyncio.create_task(self._fill(after))

    def take(self) -> Spawned | None:
        """None if none is ready: then the caller starts one. Another one takes its place soon."""
        found = None
        while self._ready and found is None:
            one = self._ready.popleft()
            found = one if one.child.returncode is None else None
        self.fill(FILL_SECONDS)
        return found

    async def close(self) -> None:
        if self._filling is not None:
            self._filling.cancel()
            with suppress(asyncio.CancelledError):
                await self._filling
        self._drop_all()
        await asyncio.gather(*self._ending)

    async def _fill(self, after: float) -> None:
        await asyncio.sleep(after)
        self._set_timer()
        while len(self._ready) < self._wanted:
            folder = self._folder / f"executor-{secrets.token_hex(4)}"
            try:
                folder.mkdir(mode=0o700, parents=True)
                self._ready.append(await spawn(folder))
            except OSError as error:
                logger.warning("no executor process could be prepared: %s", error)
                return

    def _set_timer(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self._drop_all)

    def _drop_all(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        while self._ready:
            task = asyncio.create_task(discard(self._ready.popleft()))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
