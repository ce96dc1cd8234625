"""`/mcp`: streamable HTTP, one request at a time, without sessions: nothing is lost when the daemon restarts.

The SDK takes a second to import. That happens in a thread right after start; a request that comes earlier waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
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


Serve = Callable[[StrictRequest, Any, Receive, Send], Awaitable[None]]


class McpEndpoint:
    """Whoever holds a token acts here as the agent: nothing that arrives at `/mcp` can decide anything."""

    def __init__(self, executor: Executor, held: Held) -> None:
        self._gateway = EngineGateway(executor, held)
        self._stopping = asyncio.Event()
        self._ready: asyncio.Future[Serve]
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
            manager, serve = await asyncio.to_thread(_load, self._gateway)
        except Exception as error:  # told to every request that waits for it
            logger.exception("mcp.failed")
            self._ready.set_exception(error)
            self._ready.exception()
            return
        async with manager.run():
            self._ready.set_result(serve)
            await self._stopping.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = StrictRequest(scope, receive)
        await request.body()
        try:
            message = await request.json()
        except InvalidRequest as error:
            await _unreadable(error)(scope, receive, send)
            return
        serve = self._ready.result() if self._ready.done() else await asyncio.shield(self._ready)
        await serve(request, message, receive, send)


def _load(gateway: EngineGateway) -> tuple[StreamableHTTPSessionManager, Serve]:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from executor.surfaces.mcp.exchange import answer_call, is_plain_call
    from executor.surfaces.mcp.server import build_server

    server = build_server(gateway)
    manager = StreamableHTTPSessionManager(server, stateless=True, json_response=True, max_request_body_size=MAX_BODY)

    async def serve(request: StrictRequest, message: Any, receive: Receive, send: Send) -> None:
        version = request.headers.get("mcp-protocol-version")
        if version is not None and is_plain_call(message, version, request.headers.get("accept", "")):
            response = await answer_call(server, message, version)
            await response(request.scope, receive, send)
        else:
            await manager.handle_request(request.scope, await _again(request, receive), send)

    return manager, serve


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
