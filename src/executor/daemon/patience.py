"""Connections that begin a request and never finish it, or never take their answer. They are dropped, or a few hundred
of them would hold every file descriptor of the daemon. Looked for now and then, so that an ordinary request pays
nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

PATIENCE = 60.0  # seconds for a whole request, or for any byte of an answer to be taken
HEAD_PATIENCE = 20.0  # seconds for the head of a request, from the first of them on a connection that is silent too


class Patience:
    """Of uvicorn's connections it reads `cycle`, the request that is being answered, and the timer between requests."""

    def __init__(self, connections: Iterable[Any], seconds: float = PATIENCE) -> None:
        self._connections = connections
        self._seconds = seconds
        self._head_seconds = min(seconds, HEAD_PATIENCE)
        self._waiting: WeakKeyDictionary[Any, tuple[Any, float]] = WeakKeyDictionary()

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(self._head_seconds / 4)
            self.look(time.monotonic())

    def look(self, now: float) -> None:
        """Drop what has waited for the rest of the same request, or with the same rest of an answer, for too long."""
        for connection in list(self._connections):
            untaken = connection.transport.get_write_buffer_size()
            if not untaken and not unfinished(connection):
                self._waiting.pop(connection, None)
                continue
            state = (connection.cycle, untaken)
            known, since = self._waiting.get(connection, (None, now))
            if known != state:
                self._waiting[connection] = (state, now)
            elif now - since >= (self._seconds if untaken or is_under_way(connection) else self._head_seconds):
                connection.transport.abort()


def unfinished(connection: Any) -> bool:
    if is_under_way(connection):
        return bool(connection.cycle.more_body)
    return connection.timeout_keep_alive_task is None


def is_under_way(connection: Any) -> bool:
    """Its head has come."""
    return connection.cycle is not None and not connection.cycle.response_complete
