"""`/mcp`: streamable HTTP, one request at a time, without sessions: nothing is lost when the daemon restarts.

Most requests need no SDK, which takes a second and much memory to import. The first one that does need it waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from executor.errors import Forbidden, InvalidRequest, MethodNotAllowed
from executor.model.identity.actor import Actor
from executor.surfaces.http import problems
from executor.surfaces.http.guard import ACTOR
from executor.surfaces.http.long_wait import LongWaits
from executor.surfaces.http.mcp_paths import toolkit_in
from executor.surfaces.http.open_requests import declare_needs
from executor.surfaces.http.strict_json import StrictRequest
from executor.surfaces.mcp.elicitation import DIALOG, Links, dialog_of
from executor.surfaces.mcp.exposed_tools import EXPOSED
from executor.surfaces.mcp.fast_path import answer, answer_again, is_plain
from executor.surfaces.mcp.gateway import ASKING, EngineGateway
from executor.surfaces.mcp.handshake import HANDSHAKE_VERSIONS, OPENINGS, agreed_version
from executor.surfaces.mcp.message_trace import trace_message
from executor.surfaces.mcp.open_calls import CANCELLED, CURRENT_CALL, OpenCalls, call_key
from executor.surfaces.mcp.session import CLIENT, SESSION, client_name, new_session
from executor.surfaces.mcp.streams.call_news import NEWS, CallNews, LogLevels
from executor.surfaces.mcp.streams.event_ids import CallPlace, read_event_id
from executor.surfaces.mcp.streams.progress import CallStream, progress_token, reads_streams
from executor.surfaces.mcp.tasks.requested import answer_about_requested, is_about_requested, requests_task
from executor.surfaces.mcp.tasks.requests import answer_about_task, is_about_task
from executor.surfaces.mcp.tasks.task import TASK_MODE, knows_tasks, without_hint

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from executor.daemon.wiring.executor import Executor

logger = logging.getLogger(__name__)
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
MAX_BODY = 4 * 1024 * 1024
Serve = Callable[[Scope, Receive, Send], Awaitable[None]]


class McpRequest(StrictRequest):
    """`fields` are its headers: looked at a dozen times, so they are read once."""

    def __init__(self, scope: Scope, receive: Receive, fields: Mapping[str, str]) -> None:
        super().__init__(scope, receive)
        self.fields = fields


class McpEndpoint:
    """Anyone who holds a token acts here as the agent: nothing that arrives at `/mcp` can decide anything."""

    def __init__(self, executor: Executor, held: LongWaits) -> None:
        self._gateway = EngineGateway(executor, held)
        self._calls = OpenCalls(held)
        self._links = Links()
        self._has_pages = executor.settings.approval_pages_in_clients
        self._levels = LogLevels()
        self._stopping = asyncio.Event()
        self._serve: asyncio.Future[Serve] = asyncio.get_running_loop().create_future()
        self._life: asyncio.Task[None] | None = None

    async def close(self) -> None:
        self._stopping.set()
        await self._calls.close()
        if self._life is not None:
            await self._life

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = read_headers(scope)
        place = read_event_id(headers.get("last-event-id", "")) if scope["method"] == "GET" else None
        if scope["method"] != "POST" and place is None:
            refused = MethodNotAllowed(f"{scope['method']} is not allowed at this address")
            await problems.respond(refused, {"Allow": "POST"})(scope, receive, send)
            return
        declare_needs(("execute",))
        refuse_unfit(scope[ACTOR], scope["path"])
        ASKING.set(scope[ACTOR])
        await self._narrow(scope)
        request = McpRequest(scope, receive, headers)
        if place is not None:
            await self._continue(request, place, send)
            return
        await request.body()
        try:
            message = await request.json()
        except InvalidRequest as error:
            await _refusal(PARSE_ERROR, error)(scope, receive, send)
        else:
            await self._take(request, message, send)

    async def _narrow(self, scope: Scope) -> None:
        """To the toolkit of the address, or of the key."""
        actor = scope[ACTOR]
        if slug := toolkit_in(scope["path"]):
            actor = scope[ACTOR] = await self._gateway.narrow(actor, slug)
            ASKING.set(actor)
        if actor.toolkit_id:
            EXPOSED.set(await self._gateway.read_exposed())

    async def _take(self, request: McpRequest, message: Any, send: Send) -> None:
        SESSION.set(request.fields.get("mcp-session-id", ""))
        method = message.get("method") if isinstance(message, dict) else None
        with trace_message(message, request.scope[ACTOR]):
            await self._take_message(request, message, method, send)

    async def _take_message(self, request: McpRequest, message: Any, method: Any, send: Send) -> None:
        if method == CANCELLED and self._cancel(request, message):
            await Response(status_code=202, media_type="application/json")(request.scope, request.receive, send)
        elif method == "tools/call":
            await self._call(request, _without_task(message, request.fields), send)
        elif is_about_requested(message, request.fields):
            with self._calls.track(call_key(request.scope[ACTOR], request.fields, message["id"])):
                response = await answer_about_requested(self._gateway, message)
                await response(request.scope, request.receive, send)
        elif is_about_task(message, request.fields):
            response = await answer_about_task(self._gateway, message, request.fields)
            await response(request.scope, request.receive, send)
        elif isinstance(message, dict) and self._links.settle(request.scope[ACTOR].id, message):
            await Response(status_code=202, media_type="application/json")(request.scope, request.receive, send)
        elif isinstance(message, list):
            batch = InvalidRequest("batches of messages are not supported", hint="send one message in each request")
            await _refusal(INVALID_REQUEST, batch)(request.scope, request.receive, send)
        else:
            await self._answer(request, message, send)

    async def _call(self, request: McpRequest, message: dict[str, Any], send: Send) -> None:
        with self._calls.track(call_key(request.scope[ACTOR], request.fields, message.get("id"))):
            token = progress_token(message, request.fields)
            is_streamed = reads_streams(request.fields) and TASK_MODE.get() != "requested"
            stream = CallStream(send, message, token) if is_streamed else None
            who = request.scope[ACTOR].id
            dialog = dialog_of(self._links, who, message, request.fields, stream) if self._has_pages else None
            DIALOG.set(dialog)
            session = SESSION.get()
            version = request.fields.get("mcp-protocol-version")
            if session and stream is not None and version in HANDSHAKE_VERSIONS:
                CURRENT_CALL.get().stream = stream
            CLIENT.set(client_name(session, message.get("params")))
            level = self._levels.of(session, message.get("params"))
            asks_for_news = token is not None or dialog is not None or level is not None
            if stream is not None and not asks_for_news and session and version == HANDSHAKE_VERSIONS[-1]:
                await stream.answer_plainly(partial(self._answer, request, message))
            elif stream is None or not asks_for_news:
                await self._answer(request, message, send)
            else:
                news = CallNews(stream, level, has_progress=token is not None)
                NEWS.set(news)
                await stream.answer(partial(self._answer, request, message), news.finish)

    async def _continue(self, request: McpRequest, place: CallPlace, send: Send) -> None:
        """The rest of a stream that broke: news of the call, and its answer."""
        SESSION.set(request.fields.get("mcp-session-id", ""))
        params = {"name": place.tool, "arguments": {"executionId": place.execution_id}}
        message = {"id": place.number, "params": params}
        stream = CallStream(send, message, None)
        with self._calls.track(call_key(request.scope[ACTOR], request.fields, place.number)):
            await self._gateway.check(place.execution_id)
            stream.name_events(place.execution_id)
            version = request.fields.get("mcp-protocol-version")
            await stream.resume(partial(answer_again, self._gateway, place, version))

    def _cancel(self, request: McpRequest, message: dict[str, Any]) -> bool:
        """False if the notification names no request."""
        params = message.get("params")
        if "id" in message or not isinstance(params, dict) or type(params.get("requestId")) not in (str, int):
            return False
        key = call_key(request.scope[ACTOR], request.fields, params["requestId"])
        self._calls.cancel(key, params.get("reason"))
        return True

    async def _answer(self, request: McpRequest, message: Any, send: Send) -> None:
        if is_plain(message, request.fields):
            response = await answer(self._gateway, message, request.fields.get("mcp-protocol-version"))
            await response(request.scope, request.receive, send)
        else:
            serve = await self._sdk()
            if isinstance(message, dict) and message.get("method") in OPENINGS:
                await self._prepare_opening(message)
                send = _with_session(send, message)
            await serve(request.scope, await _again(request, request.receive), send)

    async def _prepare_opening(self, message: dict[str, Any]) -> None:
        from executor.surfaces.mcp.sdk_server import INSTRUCTIONS_NOW, VERSION_NOW

        params = message.get("params")
        if message["method"] == "initialize" and isinstance(params, dict):
            VERSION_NOW.set(agreed_version(params))
        INSTRUCTIONS_NOW.set(await self._gateway.instructions())

    async def _sdk(self) -> Serve:
        if self._life is None:
            self._life = asyncio.create_task(self._live())
        return await asyncio.shield(self._serve)

    async def _live(self) -> None:
        try:
            manager = await asyncio.to_thread(_load, self._gateway, self._levels)
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


def _load(gateway: EngineGateway, levels: LogLevels) -> StreamableHTTPSessionManager:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from executor.surfaces.mcp.sdk_server import build_server

    server = build_server(gateway, levels)
    return StreamableHTTPSessionManager(server, stateless=True, json_response=True, max_request_body_size=MAX_BODY)


async def _again(request: McpRequest, receive: Receive) -> Receive:
    """The body once more, for a reader that has not seen it."""
    body: Message | None = {"type": "http.request", "body": await request.body(), "more_body": False}

    async def replay() -> Message:
        nonlocal body
        message, body = body, None
        return message if message is not None else await receive()

    return replay


def _without_task(message: dict[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    """The call itself; whether it may or must become a task is noted."""
    if isinstance(message.get("params"), dict):
        if knows_tasks(message):
            message = without_hint(message)
            TASK_MODE.set("allowed" if is_plain(message, fields) else "none")
        elif requests_task(message, fields):
            message = without_hint(message)
            TASK_MODE.set("requested" if is_plain(message, fields) else "none")
    return message


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


def read_headers(scope: Scope) -> dict[str, str]:
    """HTTP says that spaces around a value are no part of it. The protocol compares these values with the body, and so
    does the SDK. Of a header that was sent twice, the first counts."""
    scope["headers"] = [
        (name, value.strip(b" \t")) if name.startswith(b"mcp-") else (name, value) for name, value in scope["headers"]
    ]
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])}


def _refusal(code: int, error: InvalidRequest) -> Response:
    import orjson

    problem: dict[str, Any] = {"code": code, "message": error.message, "data": {"hint": error.hint}}
    content = orjson.dumps({"jsonrpc": "2.0", "id": None, "error": problem})
    return Response(content, status_code=400, media_type="application/json")
