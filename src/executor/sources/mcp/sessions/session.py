"""One live session with a server, shared by all calls to it.

The SDK's contexts must be left in the task that entered them, so that each connection has a task of its own, from
the first byte to the last. Requests are sent from the tasks of those who make them.

Answers are taken as plain JSON and judged by our own code: the SDK's models would refuse a whole page of tools
because of one that is wrong.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from ssl import SSLContext
from typing import Any

import mcp_types
from mcp.client._transport import TransportStreams
from mcp.client.session import ClientSession, IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import listen
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import encode_header_value, find_invalid_x_mcp_header, x_mcp_header_map
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from executor import __version__
from executor.dataclass import dataclass
from executor.errors import ExecutorError, SourceError, SourceUnreachable
from executor.network.departure import DEPARTURE
from executor.network.private_access import PUBLIC, Reach
from executor.sources.mcp.sessions.allowance import Allowance
from executor.sources.mcp.sessions.dispatcher import Dispatcher
from executor.sources.mcp.sessions.exchange import Exchange, LeaveTurn
from executor.sources.mcp.sessions.request_trace import host_of, trace_request
from executor.sources.mcp.sessions.server_requests import ServerRequests
from executor.sources.mcp.transports import sse
from executor.sources.mcp.transports.endpoint import Endpoint
from executor.sources.mcp.transports.http_client import open_client
from executor.sources.mcp.transports.stdio import Child, start_command

# The server's own refusal of a request.
INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
HEADER_MISMATCH = -32020
LIST = "tools/list"
TASKS = "io.modelcontextprotocol/tasks"
CHANGES = (
    mcp_types.ToolListChangedNotification,
    mcp_types.ResourceListChangedNotification,
    mcp_types.PromptListChangedNotification,
)


class RpcError(Exception):
    """A JSON-RPC error: the request arrived and was not carried out, as far as the server says."""

    trace_code = "rpc_error"

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


# What the SDK logs of its clients is about servers, at their bidding, and may quote arguments and answers.
for _name in ("mcp.client", "client"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)

CLOSE_SECONDS = 8.0
MAX_PAGES = 100
EXPLAIN_SECONDS = 1.0  # for the connection's own task to say why it ended
# An older server refuses what it doesn't know with one of these; a newer one refuses the handshake with them.
REFUSALS = frozenset({mcp_types.UNSUPPORTED_PROTOCOL_VERSION, mcp_types.METHOD_NOT_FOUND, mcp_types.INVALID_REQUEST,
                      mcp_types.INVALID_PARAMS, HEADER_MISMATCH})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Terms:
    """What a connection is opened under."""

    reach: Reach = PUBLIC  # where the endpoint's origin may be
    limit: int = 10_000_000
    open_seconds: float = 20.0
    log_file: Path | None = None
    ssl_context: SSLContext | None = None


class McpSession:
    """`on_changed` is called, on the event loop, when the server says that its tools are others now."""

    def __init__(self, endpoint: Endpoint, terms: Terms, on_changed: Callable[[], None]) -> None:
        self.endpoint = endpoint
        self.quiet = asyncio.Event()  # nothing is under way
        self.quiet.set()
        self.late = 0  # requests in a row that got no answer in time
        self._under_way = 0
        self._allowance = Allowance(terms.limit)
        self._terms = terms
        self._requests = ServerRequests()
        self._on_changed = on_changed
        self._over = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None
        self._child: Child | None = None
        self._failure: SourceError | None = None
        self._session: ClientSession
        self._dispatcher: Dispatcher

    @property
    def is_open(self) -> bool:
        return self._ready.done() and not self._is_over()

    @property
    def server(self) -> dict[str, str]:
        """What the server says about itself: shown to people, never relied on."""
        info, version = self._session.server_info, self._session.protocol_version
        name = {"name": info.name, "title": info.title or "", "version": info.version} if info is not None else {}
        return {**name, "protocol": version or "", "instructions": self._session.instructions or ""}

    @property
    def features(self) -> tuple[str, ...]:
        """What the server says it has besides tools."""
        said = self._session.server_capabilities
        found = {"resources": said.resources, "prompts": said.prompts} if said is not None else {}
        return tuple(name for name, value in found.items() if value is not None)

    @property
    def last_words(self) -> str:
        return self._child.complaints.last_words if self._child is not None else ""

    def _is_over(self) -> bool:
        return self._over.is_set() or self._dispatcher.is_over

    async def open(self) -> None:
        """Raises SourceUnreachable or EgressRefused; then nothing is left open."""
        context = copy_context()
        context.run(DEPARTURE.set, None)  # of the call that opens it: it outlives that
        self._task = asyncio.create_task(self._live(), context=context)
        try:
            await asyncio.shield(self._ready)
        except BaseException:
            await self.close()
            raise

    async def request(
        self,
        method: str,
        params: dict[str, Any],
        seconds: float,
        total: float = 0.0,
        leave_turn: LeaveTurn | None = None,
    ) -> dict[str, Any]:
        """The result as it came. Raises RpcError if the server refuses, else SourceError with `reason` and `sent`.

        With `total` it is a call: each news of progress gives the server another `seconds`, until `total`, and the
        server may ask people something, which gives up the `turn`.
        """
        with trace_request(self.endpoint, method, params):
            return await self._request(method, params, Exchange(seconds, total=total, leave_turn=leave_turn))

    async def _request(self, method: str, params: dict[str, Any], exchange: Exchange) -> dict[str, Any]:
        total = exchange.total
        if not self.is_open:
            raise self._closed_error(exchange)
        if total:
            self._requests.calls[exchange] = None
        self._under_way += 1
        self._allowance.begin_request()
        self.quiet.clear()
        try:
            async with exchange.running(self.endpoint.display_name):
                return await self._ask(method, params, exchange)
        except SourceUnreachable as error:
            self.late += error.details.get("reason") == "timeout"
            raise
        finally:
            self._requests.calls.pop(exchange, None)
            self._under_way -= 1
            self._allowance.end_request()
            if not self._under_way:
                self.quiet.set()

    async def relist(self, seconds: float) -> None:
        """The SDK learns from a listing which arguments must be repeated as headers (protocol 2026-07-28)."""
        cursor: str | None = None
        async with Exchange(seconds).running(self.endpoint.display_name):
            for _ in range(MAX_PAGES):
                page = await self._session.list_tools(params=mcp_types.PaginatedRequestParams(cursor=cursor))
                cursor = page.next_cursor
                if cursor is None:
                    return

    async def close(self) -> None:
        self._over.set()
        task = self._task
        if task is None:
            return
        _, late = await asyncio.wait([task], timeout=CLOSE_SECONDS)
        if late:
            task.cancel()
            await asyncio.wait([task], timeout=CLOSE_SECONDS)

    async def _ask(self, method: str, params: dict[str, Any], exchange: Exchange) -> dict[str, Any]:
        data: dict[str, Any] = {"method": method, "params": params}
        options: CallOptions = {"on_progress": exchange.hear_progress} if exchange.total else {}
        self._session._stamp(data, options)
        if method.startswith("tasks/") and "taskId" in params and "headers" in options:
            options["headers"] = {**options["headers"], "Mcp-Name": encode_header_value(params["taskId"])}
        try:
            result = await self._dispatcher.send_raw_request(method, data["params"], options)
        except MCPError as error:
            if self._is_over() and self._child is None and self._task is not None:
                await asyncio.wait([self._task], timeout=EXPLAIN_SECONDS)
            raise self._refusal(error, exchange) from error
        self.late = 0
        if method == LIST and self._session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            self._learn_headers(result)
        return result

    def _learn_headers(self, page: dict[str, Any]) -> None:
        """Of a page of tools: which of their arguments are repeated as headers. Tools that name such a header in a way
        that is not allowed are left out, as the protocol wants it."""
        kept = []
        for tool in page["tools"] if isinstance(page.get("tools"), list) else ():
            name, schema = (tool.get("name"), tool.get("inputSchema")) if isinstance(tool, dict) else (None, None)
            if isinstance(name, str) and isinstance(schema, dict):
                if find_invalid_x_mcp_header(schema) is not None:
                    continue
                self._session._x_mcp_header_maps[name] = x_mcp_header_map(schema)
            kept.append(tool)
        if "tools" in page:
            page["tools"] = kept

    def _refusal(self, error: MCPError, exchange: Exchange) -> Exception:
        """The SDK and servers use the same codes: only the state of the connection shows whose error it is."""
        if exchange.failure is not None:
            return exchange.failure
        if exchange.broken or (self._is_over() and error.code == mcp_types.CONNECTION_CLOSED):
            return self._closed_error(exchange)
        self.late = 0
        if error.code == mcp_types.PARSE_ERROR and error.message.startswith("Failed to parse"):
            return unreadable(self.endpoint)
        return RpcError(error.code, error.message, error.data)

    def _closed_error(self, exchange: Exchange) -> SourceError:
        known = self._failure or (self._child.failure if self._child is not None else None)
        message = known.message if known is not None else f"{self.endpoint.display_name} closed the connection"
        details = {**(known.details if known is not None else {"reason": "closed"}), "sent": exchange.sent}
        hint = known.hint if known is not None else "check that the server is up, then try again"
        return SourceUnreachable(message, hint=hint, **details)

    async def _live(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                await self._begin(stack)
                self._ready.set_result(None)
                await self._over.wait()
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the edge of the SDK: raised in the caller that waits
            self._failure = self._explain(error)
        finally:
            self._over.set()
            if not self._ready.done():
                self._ready.set_exception(self._failure or self._closed_error(Exchange(0)))
                self._ready.exception()  # perhaps no one waits

    async def _begin(self, stack: AsyncExitStack) -> None:
        async with Exchange(self._terms.open_seconds, opens=True).running(self.endpoint.display_name):
            streams = await stack.enter_async_context(self._streams())
            host = host_of(self.endpoint)
            self._dispatcher = Dispatcher(streams, self._over, self._allowance, self._requests, host)
            session = ClientSession(
                dispatcher=self._dispatcher,
                client_info=mcp_types.Implementation(name="executor", version=__version__),
                message_handler=self._hear,
                elicitation_callback=announce_elicitation,
                log_level="info",
            )
            self._session = await stack.enter_async_context(session)
            session._stamp = partial(stamp_opening, session._stamp)
            try:
                await greet(self._session)
            except MCPError as error:
                if self._is_over():
                    raise self._closed_error(Exchange(0)) from error
                raise
        if self._session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            listening = asyncio.create_task(self._listen())
            stack.callback(listening.cancel)

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[TransportStreams]:
        terms, allowance = self._terms, self._allowance
        if self.endpoint.transport == "stdio":
            async with start_command(
                self.endpoint, limit=terms.limit, allowance=allowance, log_file=terms.log_file
            ) as child:
                self._child = child
                yield child, child
            return
        async with open_client(
            self.endpoint, reach=terms.reach, limit=terms.limit, allowance=allowance, ssl_context=terms.ssl_context
        ) as client:
            if self.endpoint.transport == "sse":
                async with sse.open_stream(client, self.endpoint.url, terms.limit) as stream:
                    yield stream, stream
            else:
                async with streamable_http_client(
                    self.endpoint.url, http_client=client, max_sse_event_size=terms.limit
                ) as streams:
                    yield streams

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, CHANGES):
            self._on_changed()

    async def _listen(self) -> None:
        """Newer servers speak of changes only to those who ask; one that doesn't offer it is no worse for it."""
        with suppress(MCPError, RuntimeError, TimeoutError):
            async with listen(
                self._session, tools_list_changed=True, resources_list_changed=True, prompts_list_changed=True
            ) as events:
                async for _ in events:
                    self._on_changed()

    def _explain(self, error: BaseException) -> SourceError:
        """Groups of errors come from the SDK's tasks: the first that is ours says it best."""
        leaves = list(leaves_of(error))
        for leaf in leaves:
            if isinstance(leaf, SourceError):
                return leaf
        first = leaves[0]
        if isinstance(first, ExecutorError):
            raise first
        reason = str(first).splitlines()[0][:200] if str(first) else type(first).__name__
        too_large = "byte limit" in reason
        return SourceUnreachable(
            f"can't communicate with {self.endpoint.display_name}: {reason}",
            hint="check that the address or command belongs to an MCP server",
            reason="too_large" if too_large else "protocol",
            sent=True,
        )


async def announce_elicitation(context: Any, params: Any) -> mcp_types.ErrorData:
    """The SDK announces what has a callback. Requests are answered before it: see `Dispatcher`."""
    return mcp_types.ErrorData(code=mcp_types.INTERNAL_ERROR, message="elicitations are answered elsewhere")


def stamp_opening(
    stamp: Callable[[dict[str, Any], CallOptions], None], data: dict[str, Any], opts: CallOptions
) -> None:
    """Until a revision is agreed on. The newest one wants every message to name its method; older ones don't mind."""
    stamp(data, opts)
    opts["headers"] = {**opts.get("headers", {}), "Mcp-Method": data["method"]}


async def greet(session: ClientSession) -> None:
    """The handshake first: a server that keeps state per session must get one, and may then ask people something in the
    middle of a call. Servers of the newest revision alone refuse it, or answer with a revision that has none."""
    try:
        await session.initialize()
    except (MCPError, RuntimeError, ValidationError) as error:
        if isinstance(error, MCPError) and error.code not in REFUSALS:
            raise
        session._extensions = {TASKS: {}}  # what older servers know of tasks is asked for with each call
        try:
            await session.discover()
        except (MCPError, ValidationError, RuntimeError):
            raise error from None


def leaves_of(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in leaves_of(inner)]
    return [error]


def unreadable(endpoint: Endpoint) -> SourceUnreachable:
    return SourceUnreachable(
        f"{endpoint.display_name} sent an answer that can't be read",
        hint="see the server's own log",
        reason="protocol",
        sent=True,
    )
