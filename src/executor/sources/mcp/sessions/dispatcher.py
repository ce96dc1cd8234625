"""The SDK's dispatcher, with bounds on what a server can make it do.

The SDK starts a task for every request and every notification that comes in. Here a request waits until one of a few
places is free, and its connection is not read meanwhile; notifications that no one listens to end where they arrive.
"""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.client._transport import TransportStreams
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types import JSONRPCNotification, JSONRPCRequest

from executor.sources.mcp.sessions.allowance import MESSAGE_COST, REQUEST_COST, Allowance

MAX_REQUESTS = 16  # of the server, under way at once
MAX_ID = 256  # characters; it is sent back with the answer
PROGRESS = "notifications/progress"
HEARD = frozenset({"notifications/tools/list_changed", "notifications/subscriptions/acknowledged",
                   "notifications/cancelled"})  # fmt: skip


class Dispatcher(JSONRPCDispatcher[TransportContext]):
    """Sets `over` when the server's side of the conversation has ended."""

    def __init__(self, streams: TransportStreams, over: asyncio.Event, allowance: Allowance) -> None:
        super().__init__(*streams)
        self._over = over
        self._allowance = allowance
        self._places = asyncio.Semaphore(MAX_REQUESTS)

    @property
    def is_over(self) -> bool:
        """Known to those who wait for answers a little before `run` is done."""
        return self._closed

    async def run(self, *args: Any, **options: Any) -> None:
        try:
            await super().run(*args, **options)
        finally:
            self._over.set()

    async def _dispatch(self, item: SessionMessage | Exception, *args: Any) -> None:
        message = item.message if isinstance(item, SessionMessage) else None
        await self._allowance.spend(REQUEST_COST if isinstance(message, JSONRPCRequest) else MESSAGE_COST)
        if isinstance(message, JSONRPCNotification) and message.method not in HEARD:
            if message.method == PROGRESS:
                await self._hear_progress((message.params or {}).get("progressToken"))
            return
        if isinstance(message, JSONRPCRequest):
            if len(str(message.id)) > MAX_ID:
                return
            await self._places.acquire()
        await super()._dispatch(item, *args)

    async def _hear_progress(self, token: Any) -> None:
        """The SDK would start two tasks for each, and ask for a number."""
        pending = self._pending.get(coerce_request_id(token)) if isinstance(token, str | int) else None
        if pending is not None and pending.on_progress is not None:
            await pending.on_progress(0.0, None, None)

    async def _handle_request(self, *args: Any) -> None:
        try:
            await super()._handle_request(*args)
        finally:
            self._places.release()
