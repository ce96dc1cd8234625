"""HTTP for the SDK, under the same restrictions as every other request of Executor.

The SDK speaks through httpx2. This client reaches one origin only, at addresses that were checked, reads bounded
answers, and reports to a request (see `exchange`) exactly why it failed, where the SDK would only log it.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

import httpcore2
import httpx2
import orjson

from executor import __version__
from executor.errors import EgressRefused, SourceError, SourceUnreachable
from executor.network.addresses import display_url, parse
from executor.network.client import REDIRECTS, Outgoing, check_headers, redirect
from executor.network.departure import check_departure
from executor.network.private_access import Reach
from executor.network.slots import Reserve
from executor.sources.mcp.sessions.allowance import Allowance
from executor.sources.mcp.sessions.exchange import CURRENT, Exchange
from executor.sources.mcp.transports.challenge import challenge
from executor.sources.mcp.transports.endpoint import Endpoint
from executor.sources.mcp.transports.http_connections import GuardedBackend
from executor.sources.rate_limits import is_limited, seconds_until_reset

KEEP_ALIVE_SECONDS = 4.0
CONNECT_SECONDS = 10.0
STREAM_SECONDS = 600.0
END_SECONDS, END_BYTES = 0.25, 10_000  # for what may follow an answer
ERROR_BYTES = 64_000  # of a refusal
NOTE_SECONDS = 10.0  # for a message that gets no answer, and for the body of a refusal
GETS, GET_SECONDS = 5, 5.0  # streams opened in a row; then one in that many seconds
SESSION = "mcp-session-id"
FORBIDDEN = frozenset({"host", "content-length", "transfer-encoding", "connection", "content-type", "accept",
                       "accept-encoding", SESSION, "mcp-protocol-version"})  # fmt: skip
# Said last on a stream that is at its end: when to open it again is not for the server to decide.
RETRY = b"\n\nretry: 1000\n\n"
EMPTY = frozenset({202, 204, 205})
NOT_SENT = (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.PoolTimeout)


class GuardedTransport(httpx2.AsyncBaseTransport):
    def __init__(
        self,
        endpoint: Endpoint,
        *,
        reach: Reach,
        limit: int,
        allowance: Allowance,
        ssl_context: ssl.SSLContext | None,
    ) -> None:
        self._origin = parse(endpoint.url).origin
        self._is_sse = endpoint.transport == "sse"
        self._limit = limit
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=ssl_context,
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=KEEP_ALIVE_SECONDS,
            network_backend=GuardedBackend(reach, allowance),
        )
        self._gets_left: float = GETS
        self._last_get = 0.0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = exchange_of(request)
        try:
            async with exchange.reading() if exchange is not None else asyncio.timeout(self._seconds(request)):
                if request.method == "GET":
                    await self._wait_for_turn()
                return await self._exchange(request, exchange)
        except (SourceError, TimeoutError) as error:
            failure = error if isinstance(error, SourceError) else unreachable(self._origin, error, sent=True)
            if request.method != "POST":
                raise failure from error
            # An exception here would end the connection for every other call on it: fail only the one concerned.
            if exchange is not None:
                exchange.fail(failure)
            return httpx2.Response(202, request=request)

    def _seconds(self, request: httpx2.Request) -> float:
        """For everything up to the body of the answer, or up to the stream of events."""
        is_note = request.method != "GET" and not is_request(request)
        return NOTE_SECONDS if is_note else STREAM_SECONDS

    async def _wait_for_turn(self) -> None:
        """The SDK opens a stream again as soon as the server says, which may be at once and without end."""
        now = asyncio.get_running_loop().time()
        self._gets_left = min(GETS, self._gets_left + (now - self._last_get) / GET_SECONDS) - 1
        self._last_get = now
        if self._gets_left < 0:
            await asyncio.sleep(-self._gets_left * GET_SECONDS)

    async def aclose(self) -> None:
        await self._pool.aclose()

    async def _exchange(self, request: httpx2.Request, exchange: Exchange | None) -> httpx2.Response:
        target = parse(str(request.url))
        if target.origin != self._origin:
            raise EgressRefused(
                f"{display_url(str(request.url))} is not where this source was added",
                hint="if the address is correct, add the source again with it",
            )
        response = await self._send(request, exchange)
        try:
            self._check_redirect(request, response)
            return await self._read(request, response, exchange)
        except BaseException:
            await response.aclose()
            raise

    async def _send(self, request: httpx2.Request, exchange: Exchange | None) -> httpx2.Response:
        content = request.stream
        assert isinstance(content, httpx2.AsyncByteStream)  # noqa: S101 - for the type checker
        url = httpcore2.URL(
            scheme=request.url.raw_scheme, host=request.url.raw_host, port=request.url.port, target=request.url.raw_path
        )
        extensions = {**request.extensions, "trace": partial(note_progress, exchange)}
        core = httpcore2.Request(
            request.method, url, headers=headers_to_send(request), content=content, extensions=extensions
        )
        try:
            answer = await self._pool.handle_async_request(core)
        except NOT_SENT as error:
            raise unreachable(self._origin, error, sent=False) from error
        except (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError, OSError) as error:
            raise unreachable(self._origin, error, sent=exchange is None or exchange.sent) from error
        assert not isinstance(answer.stream, bytes)  # noqa: S101 - for the type checker
        stream = Body(answer.stream, self._origin, exchange, self._limit)
        return httpx2.Response(answer.status, headers=answer.headers, stream=stream, request=request)

    def _check_redirect(self, request: httpx2.Request, response: httpx2.Response) -> None:
        location = response.headers.get("location")
        if response.status_code in REDIRECTS and location is not None:
            url = str(request.url)
            after = redirect(Outgoing(request.method, url), parse(url), response.status_code, location)
            if parse(after.url).origin != self._origin:
                raise EgressRefused(
                    f"{display_url(url)} redirects to {display_url(after.url)}; the redirect was not followed",
                    hint="if the new address is correct, add the source again with it",
                    sent=True,
                )

    async def _read(
        self, request: httpx2.Request, response: httpx2.Response, exchange: Exchange | None
    ) -> httpx2.Response:
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise SourceUnreachable(
                f"{self._origin} sent a compressed answer, although none was requested",
                hint="check the proxy in front of the server",
                reason="protocol",
                sent=True,
            )
        if response.status_code >= 400:
            return await self._refuse(request, response)
        assert isinstance(response.stream, Body)  # noqa: S101 - for the type checker
        if request.method != "GET" and (self._is_sse or not is_request(request)):
            await response.stream.read_on()  # of no interest to anyone
            await response.aclose()
            return httpx2.Response(response.status_code, request=request)
        media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.is_success and media_type == "text/event-stream":
            response.stream.is_events = True
            return response
        if request.method == "GET" or not response.is_success or response.status_code in EMPTY:
            await response.aclose()
            return httpx2.Response(response.status_code, headers=without_body(response.headers), request=request)
        if media_type != "application/json":
            raise SourceUnreachable(
                f"{display_url(str(request.url))} answers with {media_type or 'no content type'}, which is not MCP",
                hint="check the address; it is often /mcp or /sse",
                reason="protocol",
                sent=True,
            )
        body = b"".join([part async for part in response.aiter_raw()])
        await response.aclose()
        return httpx2.Response(
            200, headers={"content-type": media_type, **kept_headers(response)}, content=body, request=request
        )

    async def _refuse(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        status = response.status_code
        body = await beginning(response)
        where = display_url(str(request.url))
        if status in (401, 403) and (
            found := challenge(status, response.headers.get_list("www-authenticate"), str(request.url))
        ):
            raise found
        if SESSION in request.headers and (status == 404 or (status == 400 and b"session" in body[:2_000].lower())):
            raise SourceUnreachable(
                f"{where} has ended the session", hint="try again", reason="session", sent=False, upstream_status=status
            )
        if request.method == "POST" and is_limited(status, response.headers):
            raise SourceUnreachable(
                f"{where} answered {status}: too many requests",
                hint="wait before the next one",
                reason="limited",
                sent=True,
                upstream_status=status,
                retry_after=seconds_until_reset(response.headers),
            )
        if request.method == "POST" and not self._is_sse and (error := rpc_error(body)):
            return httpx2.Response(status, json=error, request=request)
        if request.method == "GET" and not self._is_sse:
            return httpx2.Response(status, request=request)  # a server need not offer a stream of its own
        raise SourceUnreachable(
            f"{where} answered {status}",
            hint="check the address and that the server is up, then try again",
            reason="status",
            sent=True,
            upstream_status=status,
        )


def headers_to_send(request: httpx2.Request) -> list[tuple[bytes, bytes]]:
    """The SDK gives every request the content type of a message, also those that have no body."""
    has_body = "content-length" in request.headers or "transfer-encoding" in request.headers
    return [pair for pair in request.headers.raw if has_body or pair[0].lower() != b"content-type"]


class Body(httpx2.AsyncByteStream):
    """An answer as it arrives: bounded in size, and in time by its request's own deadline.

    Only a stream of events that belongs to no request continues for ever; its events are bounded by their reader.
    The SDK closes a stream of events once it has the answer; to come to its end means that there was none in it.
    """

    is_events = False

    def __init__(self, stream: Any, origin: str, exchange: Exchange | None, limit: int) -> None:
        self._stream = stream
        self._parts = aiter(stream)
        self._origin = origin
        self._exchange = exchange
        self._limit = limit
        self._size = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        reserve = Reserve(self._origin, self._exchange)
        try:
            async for part in self._read_parts(reserve):
                yield part
        finally:
            reserve.close(self._size)

    async def _read_parts(self, reserve: Reserve) -> AsyncIterator[bytes]:
        has_retry, tail = False, b""
        while True:
            try:
                async with self._exchange.reading() if self._exchange is not None else nullcontext():
                    part = await anext(self._parts)
            except StopAsyncIteration:
                self._mark_broken()
                if has_retry:
                    yield RETRY
                return
            except (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError, OSError) as error:
                self._mark_broken()
                if has_retry:
                    yield RETRY
                raise unreachable(self._origin, error, sent=True) from error
            if self.is_events:
                has_retry, tail = has_retry or b"retry" in tail + part, part[-5:]
            self._size += len(part)
            if self._size > self._limit and not (self.is_events and self._exchange is None):
                raise self._too_large()
            if self._exchange is not None:
                await reserve.fit(self._size, self._limit)
            yield part

    def _mark_broken(self) -> None:
        if self.is_events and self._exchange is not None:
            self._exchange.broken = True

    def _too_large(self) -> SourceUnreachable:
        error = SourceUnreachable(
            f"{self._origin} answered with more than {self._limit:,} bytes",
            hint="request less: a page, a filter or a smaller range",
            reason="too_large",
            sent=True,
        )
        if self._exchange is not None:
            self._exchange.fail(error)
        return error

    async def aclose(self) -> None:
        try:
            if self.is_events:
                await self.read_on()
        finally:
            await self._stream.aclose()

    async def read_on(self) -> None:
        """Only a connection whose answer was read to its end is used again, and servers end theirs right after it."""
        size = 0
        with suppress(StopAsyncIteration, httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError,
                      OSError):  # fmt: skip
            async with asyncio.timeout(END_SECONDS):
                while size < END_BYTES:
                    size += len(await anext(self._parts))


async def note_progress(exchange: Exchange | None, event: str, _: dict[str, Any]) -> None:
    """The pool says so when it has a connection and begins to write; until then nothing has left."""
    if exchange is not None and event.endswith("send_request_headers.started"):
        try:
            check_departure()
        except SourceUnreachable as error:
            exchange.fail(error)
            raise
        exchange.sent = True


def open_client(
    endpoint: Endpoint,
    *,
    reach: Reach,
    limit: int,
    allowance: Allowance | None = None,
    ssl_context: ssl.SSLContext | None = None,
) -> httpx2.AsyncClient:
    allowance = allowance or Allowance(limit)
    transport = GuardedTransport(endpoint, reach=reach, limit=limit, allowance=allowance, ssl_context=ssl_context)
    headers = {"User-Agent": f"executor/{__version__}", "Accept-Encoding": "identity", **checked_headers(endpoint)}
    # Reading has no timeout of its own: the deadline of the request knows when people are waited for.
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=None)
    return httpx2.AsyncClient(transport=transport, headers=headers, timeout=timeout, trust_env=False)


def checked_headers(endpoint: Endpoint) -> dict[str, str]:
    headers = dict(endpoint.headers)
    check_headers(headers)
    for name in headers:
        if name.lower() in FORBIDDEN:
            raise EgressRefused(f"the header {name} is set by the protocol itself", hint="remove it from the source")
    return headers


def exchange_of(request: httpx2.Request) -> Exchange | None:
    """Of a request, and of the stream that carries on its answer; not of a stream that only began beside it."""
    exchange = CURRENT.get()
    if exchange is None or (request.method == "GET" and exchange.opens):
        return None
    return exchange if request.method == "GET" or is_request(request) else None


def is_request(request: httpx2.Request) -> bool:
    """A message that will be answered: neither a notification, nor our own answer to the server."""
    content = request.content if request.method == "POST" else b""
    method, result = content.find(b'"method":'), content.find(b'"result":')
    return method >= 0 and not 0 <= result < method and b'"method":"notifications/' not in content


async def beginning(response: httpx2.Response) -> bytes:
    """As much of a refusal as says why, and no more: it may have no end."""
    body = b""
    with suppress(TimeoutError, SourceError):
        async with asyncio.timeout(NOTE_SECONDS):
            async for part in response.aiter_raw():
                body += part[: ERROR_BYTES - len(body)]
                if len(body) >= ERROR_BYTES:
                    break
    await response.aclose()
    return body


def rpc_error(body: bytes) -> dict[str, Any]:
    """The server's own words, in a form that the SDK accepts: many servers forget the id. Empty if there are none."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    error = message.get("error") if isinstance(message, dict) else None
    if not isinstance(error, dict) or type(error.get("code")) is not int:
        return {}
    failure = {"code": error["code"], "message": str(error.get("message", "")), "data": error.get("data")}
    return {"jsonrpc": "2.0", "id": None, "error": failure}


def without_body(headers: httpx2.Headers) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in ("content-length", "transfer-encoding")}


def kept_headers(response: httpx2.Response) -> dict[str, str]:
    return {SESSION: response.headers[SESSION]} if SESSION in response.headers else {}


def unreachable(origin: str, error: Exception, *, sent: bool) -> SourceUnreachable:
    if isinstance(error.__cause__, ssl.SSLError) or isinstance(error.__context__, ssl.SSLError):
        reason, message = "tls", f"{origin} has no trusted certificate"
    elif isinstance(error, httpcore2.TimeoutException | TimeoutError):
        reason, message = "timeout", f"{origin} did not answer in time"
    elif not sent:
        reason, message = "connect", f"{origin} could not be reached: {error}"
    else:
        reason, message = "closed", f"{origin} closed the connection before the answer was complete"
    hint = "check the address and that the server is running, then try again"
    return SourceUnreachable(message, hint=hint, reason=reason, sent=sent)
