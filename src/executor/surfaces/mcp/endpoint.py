"""`/mcp`: streamable HTTP, one request at a time, without sessions: nothing is lost when the daemon restarts.

Most requests need no SDK, which takes a second and much memory to import. The first one that does need it waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from executor.errors import Forbidden, InvalidRequest, MethodNotAllowed
from executor.model.identity.actor import Actor
from executor.surfaces.http import problems
from executor.surfaces.http.guard import ACTOR
from executor.surfaces.http.long_wait import LongWaits
from executor.surfaces.http.open_requests import declare_needs
from executor.surfaces.http.strict_json import StrictRequest
from executor.surfaces.mcp.elicitation import DIALOG, Links, dialog_of
from executor.surfaces.mcp.fast_path import answer, is_plain
from executor.surfaces.mcp.gateway import ASKING, EngineGateway
from executor.surfaces.mcp.handshake import OPENINGS
from executor.surfaces.mcp.open_calls import CANCELLED, OpenCalls, call_key
from executor.surfaces.mcp.progress import CallStream, progress_token, reads_streams
from executor.surfaces.mcp.session import SESSION, new_session

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from executor.daemon.wiring.executor import Executor

logger = logging.getLogger(__name__)
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
MAX_BODY = 4 * 1024 * 1024
Serve = Callable[[Scope, Receive, Send], Awaitable[None]]


class McpEndpoint:
    """Anyone who holds a token acts here as the agent: nothing that arrives at `/mcp` can decide anything."""

    def __init__(self, executor: Executor, held: LongWaits) -> None:
        self._gateway = EngineGateway(executor, held)
        self._calls = OpenCalls(held)
        self._links = Links()
        self._stopping = asyncio.Event()
        self._serve: asyncio.Future[Serve] = asyncio.get_running_loop().create_future()
        self._life: asyncio.Task[None] | None = None

    async def close(self) -> None:
        self._stopping.set()
        await self._calls.close()
        if self._life is not None:
            await self._life

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            refused = MethodNotAllowed(f"{scope['method']} is not allowed at this address")
            await problems.respond(refused, {"Allow": "POST"})(scope, receive, send)
            return
        declare_needs(("execute",))
        refuse_unfit(scope[ACTOR], scope["path"])
        ASKING.set(scope[ACTOR])
        request = StrictRequest(scope, receive)
        await request.body()
        try:
            message = await request.json()
        except InvalidRequest as error:
            await _refusal(PARSE_ERROR, error)(scope, receive, send)
        else:
            await self._take(request, message, send)

    async def _take(self, request: Request, message: Any, send: Send) -> None:
        method = message.get("method") if isinstance(message, dict) else None
        if method == CANCELLED and self._cancel(request, message):
            await Response(status_code=202, media_type="application/json")(request.scope, request.receive, send)
        elif method == "tools/call":
            await self._call(request, message, send)
        elif isinstance(message, dict) and self._links.settle(request.scope[ACTOR].id, message):
            await Response(status_code=202, media_type="application/json")(request.scope, request.receive, send)
        elif isinstance(message, list):
            batch = InvalidRequest("batches of messages are not supported", hint="send one message in each request")
            await _refusal(INVALID_REQUEST, batch)(request.scope, request.receive, send)
        else:
            await self._answer(request, message, send)

    async def _call(self, request: Request, message: dict[str, Any], send: Send) -> None:
        with self._calls.track(call_key(request.scope[ACTOR], request.headers, message.get("id"))):
            token = progress_token(message, request.headers)
            stream = CallStream(send, message, token) if reads_streams(request.headers) else None
            dialog = dialog_of(self._links, request.scope[ACTOR].id, message, request.headers, stream)
            DIALOG.set(dialog)
            SESSION.set(request.headers.get("mcp-session-id", ""))
            if stream is None or (token is None and dialog is None):
                await self._answer(request, message, send)
            else:
                await stream.answer(partial(self._answer, request, message))

    def _cancel(self, request: Request, message: dict[str, Any]) -> bool:
        """False if the notification names no request."""
        params = message.get("params")
        if "id" in message or not isinstance(params, dict) or type(params.get("requestId")) not in (str, int):
            return False
        key = call_key(request.scope[ACTOR], request.headers, params["requestId"])
        self._calls.cancel(key, params.get("reason"))
        return True

    async def _answer(self, request: Request, message: Any, send: Send) -> None:
        if is_plain(message, request.headers):
            response = await answer(self._gateway, message, request.headers.get("mcp-protocol-version"))
            await response(request.scope, request.receive, send)
        else:
            serve = await self._sdk()
            if isinstance(message, dict) and message.get("method") in OPENINGS:
                await self._name_connected()
                send = _with_session(send, message)
            await serve(request.scope, await _again(request, request.receive), send)

    async def _name_connected(self) -> None:
        from executor.surfaces.mcp.sdk_server import INSTRUCTIONS_NOW

        INSTRUCTIONS_NOW.set(await self._gateway.instructions())

    async def _sdk(self) -> Serve:
        if self._life is None:
            self._life = asyncio.create_task(self._live())
        return await asyncio.shield(self._serve)

    async def _live(self) -> None:
        try:
            manager = await asyncio.to_thread(_load, self._gateway)
        except Exception as error:  # raised in every request that waits for it
            logger.exception("mcp.failed")
            self._serve.set_exception(error)
            self._serve.exception()
            return
        async with manager.run():
            self._serve.set_result(manager.handle_request)
            await self._stopping.wait()


def refuse_unfit(actor: Actor, path: str) -> None:
    if not actor.may("execute"):
        raise Forbidden("permission denied: `execute` is required", hint="use another key")
    if path == "/mcp/anonymous" and actor.via not in ("anonymous", "api_key", "agent_token"):
        raise Forbidden("this address is only for tokens of agents and for keys", hint="use /mcp")


def _load(gateway: EngineGateway) -> StreamableHTTPSessionManager:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from executor.surfaces.mcp.sdk_server import build_server

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


def _with_session(send: Send, message: dict[str, Any]) -> Send:
    """As the short road gives one to a client that shakes hands."""
    params = message.get("params")
    if message["method"] != "initialize" or not isinstance(params, dict):
        return send
    header = (b"mcp-session-id", new_session(params).encode())

    async def name(part: Message) -> None:
        if part["type"] == "http.response.start":
            part = {**part, "headers": [*part["headers"], header]}
        await send(part)

    return name


def _refusal(code: int, error: InvalidRequest) -> Response:
    import orjson

    problem: dict[str, Any] = {"code": code, "message": error.message, "data": {"hint": error.hint}}
    content = orjson.dumps({"jsonrpc": "2.0", "id": None, "error": problem})
    return Response(content, status_code=400, media_type="application/json")
