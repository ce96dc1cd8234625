"""The SDK's dispatcher, with bounds on what a server can make it do.

The SDK starts a task for every request and every notification that comes in. Here a request waits until one of a few
places is free, and its connection is not read meanwhile; notifications that no one listens to end where they arrive.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from functools import partial
from typing import Any

from mcp.client._transport import TransportStreams
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import MessageMetadata, SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest

from executor.sources.mcp.sessions.allowance import MESSAGE_COST, REQUEST_COST, Allowance
from executor.sources.mcp.sessions.exchange import CURRENT
from executor.sources.mcp.sessions.request_trace import replace_trace
from executor.sources.mcp.sessions.server_requests import ELICITATION, SAMPLING, ServerRequests

MAX_REQUESTS = 16  # of the server, under way at once
MAX_ID = 256  # characters; it is sent back with the answer
PROGRESS, LOG = "notifications/progress", "notifications/message"
HEARD = frozenset({"notifications/tools/list_changed", "notifications/resources/list_changed",
                   "notifications/prompts/list_changed", "notifications/subscriptions/acknowledged",
                   "notifications/cancelled"})  # fmt: skip


class Dispatcher(JSONRPCDispatcher[TransportContext]):
    """Sets `over` when the server's side of the conversation has ended."""

    def __init__(
        self,
        streams: TransportStreams,
        over: asyncio.Event,
        allowance: Allowance,
        requests: ServerRequests,
        host: str = "",
    ) -> None:
        super().__init__(*streams)
        self._host = host
        self._requests = requests
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

    async def _write(self, message: JSONRPCMessage, metadata: MessageMetadata = None) -> None:
        """The SDK adds the trace of whatever program it runs in, and baggage. Only ours may go, and only where it is
        meant to."""
        if isinstance(message, JSONRPCRequest | JSONRPCNotification):
            replace_trace(message, self._host)
        await super()._write(message, metadata)

    async def _dispatch(self, item: SessionMessage | Exception, *args: Any) -> None:
        message = item.message if isinstance(item, SessionMessage) else None
        await self._allowance.spend(REQUEST_COST if isinstance(message, JSONRPCRequest) else MESSAGE_COST)
        if isinstance(message, JSONRPCNotification) and message.method not in HEARD:
            if message.method == PROGRESS:
                await self._hear_progress(message.params or {})
            elif message.method == LOG:
                context = args[-1]
                self._requests.hear_log(message.params or {}, context.get(CURRENT) if context is not None else None)
            return
        if isinstance(message, JSONRPCRequest):
            if len(str(message.id)) > MAX_ID:
                return
            await self._places.acquire()
        await super()._dispatch(item, *args)

    async def _hear_progress(self, params: dict[str, Any]) -> None:
        """The SDK would start two tasks for each, and ask for a number."""
        token, said = params.get("progressToken"), params.get("message")
        pending = self._pending.get(coerce_request_id(token)) if isinstance(token, str | int) else None
        if pending is not None and pending.on_progress is not None:
            done, total = (number_in(params, name) for name in ("progress", "total"))
            await pending.on_progress(done or 0.0, total, said if isinstance(said, str) else None)

    async def _handle_request(self, req: JSONRPCRequest, dctx: Any, scope: Any, on_request: Any) -> None:
        """An elicitation may take days, and leaves its place to others meanwhile."""
        with ExitStack() as place:
            place.callback(self._places.release)
            own = partial(self._answer, place.close) if req.method in (ELICITATION, SAMPLING) else on_request
            await super()._handle_request(req, dctx, scope, own)

    async def _answer(self, leave_place: Any, dctx: Any, method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        """The SDK's models would refuse what they don't know without saying why."""
        return await self._requests.answer(method, params or {}, CURRENT.get(), leave_place)


def number_in(params: dict[str, Any], name: str) -> float | None:
    value = params.get(name)
    return float(value) if isinstance(value, int | float) and abs(value) < 1e300 else None
