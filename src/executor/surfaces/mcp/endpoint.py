"""`/mcp`: streamable HTTP, one request at a time, without sessions: nothing is lost when the daemon restarts.

The SDK takes a second to import. That happens in a thread right after start; a request that comes earlier waits.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Self

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from executor.errors import InvalidRequest
from executor.surfaces.body import StrictRequest
from executor.surfaces.mcp.gateway import EngineGateway
from executor.surfaces.waiting import Held

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from executor.daemon.executor import Executor

logger = logging.getLogger(__name__)
MAX_BODY = 4 * 1024 * 1024


class McpEndpoint:
    """Whoever holds a token acts here as the agent: nothing that arrives at `/mcp` can decide anything."""

    def __init__(self, executor: Executor, held: Held) -> None:
        self._gateway = EngineGateway(executor, held)
        self._stopping = asyncio.Event()
        self._ready: asyncio.Future[StreamableHTTPSessionManager]
        self._life: asyncio.Task[None]

    async def __aenter__(self) -> Self:
        self._ready = asyncio.get_running_loop().create_future()
        self._life = asyncio.create_task(self._live())
        return self

    async def __aexit__(self, *error: object) -> None:
        self._stopping.set()
        await self._life

    async def _live(self) -> None:
        try:
            manager = await asyncio.to_thread(_load, self._gateway)
        except Exception as error:  # told to every request that waits for it
            logger.exception("mcp.failed")
            self._ready.set_exception(error)
            self._ready.exception()
            return
        async with manager.run():
            self._ready.set_result(manager)
            await self._stopping.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = StrictRequest(scope, receive)
        await request.body()
        try:
            await request.json()
        except InvalidRequest as error:
            await _unreadable(error)(scope, receive, send)
            return
        manager = await asyncio.shield(self._ready)
        await manager.handle_request(scope, await _again(request, receive), send)


def _load(gateway: EngineGateway) -> StreamableHTTPSessionManager:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from executor.surfaces.mcp.server import build_server

    server = build_server(gateway)
    return StreamableHTTPSessionManager(server, stateless=True, json_response=True, max_request_body_size=MAX_BODY)


async def _again(request: Request, receive: Receive) -> Receive:
    """The body once more, for a reader that has not seen it."""
    body: Message | None = {"type": "http.request", "body": await request.body(), "more_body": False}

    async def replay() -> Message:
        nonlocal body
        message, body = body, None
        return message if message is not None else await receive()

    return replay


def _unreadable(error: InvalidRequest) -> Response:
    import orjson

    problem: dict[str, Any] = {"code": -32700, "message": error.message, "data": {"hint": error.hint}}
    content = orjson.dumps({"jsonrpc": "2.0", "id": None, "error": problem})
    return Response(content, status_code=400, media_type="application/json")
