"""A source's line to its server: opened when needed, shared by calls, opened again after failures, closed when idle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from executor.errors import SourceError, SourceUnreachable
from executor.network.slots import COMMAND, Slots
from executor.sources.mcp.sessions.exchange import LeaveTurn
from executor.sources.mcp.transports.endpoint import Endpoint

if TYPE_CHECKING:
    from executor.sources.mcp.sessions.session import McpSession

Dial = Callable[[Endpoint, Callable[[], None]], Awaitable["McpSession"]]
Hold = Callable[[], AbstractAsyncContextManager[None]]

FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
PATIENCE = 2.0  # a call waits this long for the next attempt to connect; beyond that it fails at once
LATE_IN_A_ROW = 2  # answers that never came, before the connection is given up for another
FINAL = frozenset({"auth", "timeout"})


class SessionPool:
    """`hold` is where a request waits for its turn.

    At most one connection takes new requests; one that was given up lives until its requests are answered.
    """

    def __init__(self, endpoint: Endpoint, dial: Dial, idle_seconds: float, hold: Hold | None = None) -> None:
        self.endpoint = endpoint
        self._dial = dial
        self._hold = hold or partial(Slots(COMMAND).hold, endpoint.display_name)
        self._watcher: Callable[[], None] | None = None
        self._has_changed = False
        self._idle_seconds = idle_seconds
        self._connection: McpSession | None = None
        self._opening: asyncio.Task[McpSession] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._failures = 0
        self._not_before = 0.0
        self._last_error: SourceError | None = None

    async def request(self, method: str, params: dict[str, Any], seconds: float, total: float = 0.0) -> dict[str, Any]:
        """In turn with the others on this line. `seconds` counts from then on, and again from each news of progress
        until `total`."""
        async with AsyncExitStack() as turn:
            await turn.enter_async_context(self._hold())
            return await self._request(method, params, seconds, total, turn.aclose)

    async def _request(
        self, method: str, params: dict[str, Any], seconds: float, total: float, leave_turn: LeaveTurn
    ) -> dict[str, Any]:
        """Sent a second time only if it certainly didn't reach the server the first time."""
        connection = await self.connect()
        try:
            return await self._over(connection, method, params, seconds, total, leave_turn)
        except SourceUnreachable as error:
            if error.details.get("sent") or error.details.get("reason") in FINAL:
                raise
        return await self._over(await self.connect(), method, params, seconds, total, leave_turn)

    async def connect(self, *, now: bool = False) -> McpSession:
        """`now` skips the wait after failures: for someone who asks for this very attempt."""
        if self._connection is not None and self._connection.is_open:
            return self._connection
        if self._opening is None or self._opening.done():
            if self._connection is not None:
                self._give_up(self._connection)
            if not now:
                await self._wait_for_turn()
            if self._opening is None or self._opening.done():
                self._opening = asyncio.create_task(self._open())
        return await asyncio.shield(self._opening)

    def watch(self, watcher: Callable[[], None]) -> None:
        """Called when the server says that its tools have changed, also if it said so before anyone watched."""
        self._watcher = watcher
        if self._has_changed:
            self._on_changed()

    def _on_changed(self) -> None:
        self._has_changed = self._watcher is None
        if self._watcher is not None:
            self._watcher()

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._opening is not None and not self._opening.done():
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()
        if self._closing:
            await asyncio.wait(self._closing)

    async def _over(
        self,
        connection: McpSession,
        method: str,
        params: dict[str, Any],
        seconds: float,
        total: float,
        leave_turn: LeaveTurn,
    ) -> dict[str, Any]:
        try:
            return await connection.request(method, params, seconds, total, leave_turn)
        except SourceUnreachable as error:
            reason = error.details.get("reason")
            if reason in ("session", "too_large", "connect") or connection.late >= LATE_IN_A_ROW:
                self._give_up(connection)
            raise
        finally:
            self._rest()

    async def _open(self) -> McpSession:
        try:
            connection = await self._dial(self.endpoint, self._on_changed)
        except SourceError as error:
            wait = min(LONGEST_WAIT, FIRST_WAIT * 2**self._failures)
            self._failures = min(self._failures + 1, 20)
            self._not_before = asyncio.get_running_loop().time() + wait
            self._last_error = error
            raise
        self._failures, self._last_error = 0, None
        self._connection = connection
        self._rest()
        return connection

    async def _wait_for_turn(self) -> None:
        left = self._not_before - asyncio.get_running_loop().time()
        if self._last_error is None or left <= 0:
            return
        if left > PATIENCE:
            error = self._last_error
            hint = f"{error.hint}; next attempt in {left:.0f} s"
            raise type(error)(error.message, hint=hint, **{**error.details, "sent": False})
        await asyncio.sleep(left)

    def _give_up(self, connection: McpSession) -> None:
        if self._connection is connection:
            self._connection = None
        task = asyncio.create_task(self._close_when_done(connection))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _close_when_done(self, connection: McpSession) -> None:
        await connection.quiet.wait()
        await connection.close()

    def _rest(self) -> None:
        """Close after a while without requests; each one starts the while again."""
        loop = asyncio.get_running_loop()
        if self._timer is None or self._timer.when() < loop.time() + self._idle_seconds / 2:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = loop.call_later(self._idle_seconds, self._idle)

    def _idle(self) -> None:
        self._timer = None
        connection = self._connection
        if connection is None:
            return
        if connection.quiet.is_set():
            self._give_up(connection)
        else:
            self._rest()
