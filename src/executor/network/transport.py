"""Connections: kept alive, pooled, and made only to addresses that were checked.

Host names are resolved once, by `GuardedResolver`, at the moment of connecting: the address that was checked is
the address that is used. Each grant of private addresses has a pool of its own, so that a connection made for one
source can't be borrowed by another that has no such grant.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from executor.errors import SourceUnreachable
from executor.network.addresses import Target, display_url, literal, moved_refusal, refusal
from executor.network.client import SAFE_METHODS, Answer, Attempt, Bounds, Outgoing
from executor.network.decompression import ACCEPT_ENCODING, BrokenEncoding, Inflater, UnknownEncoding
from executor.network.error_reasons import one_line
from executor.network.files import FILES, Files, Kept
from executor.network.http_request import ATTEMPT, open_response
from executor.network.private_access import ANY, PUBLIC, Reach
from executor.network.slots import HostSlots, Reserve

# Shorter than the five seconds after which common servers drop an idle connection: a write must not meet that moment.
KEEP_ALIVE_SECONDS = 4.0
# Answers that come line by line, and may have no end.
LINES = ("ndjson", "jsonl", "jsonlines", "json-lines", "json-seq", "stream+json", "json-stream")


class GuardedResolver(AbstractResolver):
    """Refuses a public name if any of its addresses is private: an attacker chooses which one would be used.

    Of a name that was granted only the granted addresses are used.
    """

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._inner = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        allowed = [result for result in found if self._allows(result)]
        if not allowed or (self._reach == PUBLIC and len(allowed) < len(found)):
            refused = next((result["host"] for result in found if result not in allowed), "")
            raise refusal(host, refused) if self._reach == PUBLIC else moved_refusal(host, refused)
        return allowed

    def _allows(self, result: ResolveResult) -> bool:
        address = literal(result["host"].partition("%")[0])
        return address is not None and self._reach.allows(address)

    async def close(self) -> None:
        await self._inner.close()


class Transport:
    """Who gets a connection is decided by `slots`, so that the pools below need no bounds of their own."""

    def __init__(self, connect_seconds: float, slots: HostSlots) -> None:
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_seconds)
        self._slots = slots
        self._connectors: dict[Reach, aiohttp.TCPConnector] = {}

    async def send(self, outgoing: Outgoing, target: Target, reach: Reach, bounds: Bounds, attempt: Attempt) -> Answer:
        async with self._slots.hold(target.origin, attempt, bounds.queue_seconds):
            token = ATTEMPT.set(attempt)
            try:
                return await self._try(outgoing, target, reach, bounds, attempt)
            finally:
                ATTEMPT.reset(token)  # else the task would keep what knows the task: a cycle

    async def _try(self, outgoing: Outgoing, target: Target, reach: Reach, bounds: Bounds, attempt: Attempt) -> Answer:
        tries = 2 if outgoing.method in SAFE_METHODS else 1
        while True:
            tries -= 1
            try:
                return await self._exchange(outgoing, target, reach, bounds)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
                if tries == 0 or isinstance(error, aiohttp.ClientConnectorError):
                    raise unreachable(target, error, sent=attempt.sent) from error
            except (aiohttp.ClientError, OSError) as error:
                raise unreachable(target, error, sent=attempt.sent) from error
            except SourceUnreachable as error:
                error.details["sent"] = attempt.sent  # it may be that only the answer found no room
                raise

    async def _exchange(self, outgoing: Outgoing, target: Target, reach: Reach, bounds: Bounds) -> Answer:
        connector = self._connectors.get(reach) or self._open_connector(reach)
        url = URL(target.url, encoded=True)
        async with await open_response(connector, self._timeout, outgoing, url, bounds.seconds) as response:
            reserve = Reserve(target.origin, ATTEMPT.get())
            body, complete, file = b"", True, None
            from_bytes = bounds.file_from(response.headers) if bounds.file_from and response.status < 300 else 0
            try:
                if from_bytes and (files := FILES.get()) is not None:
                    body, file = await read_file(response, bounds, reserve, files, from_bytes)
                elif bounds.stream_seconds and response.status < 300 and is_stream(response):
                    body, complete = await read_stream(response, bounds, reserve)
                else:
                    body = await read_body(response, bounds.size, reserve)
            except BrokenEncoding as error:
                response.close()
                if response.status < 300:
                    raise unreadable(response, error) from error  # of any other answer the status says enough
            finally:
                reserve.close(len(body))
            return Answer(response.status, response.headers, body, outgoing.url, complete, file)

    def _open_connector(self, reach: Reach) -> aiohttp.TCPConnector:
        connector = self._connectors[reach] = aiohttp.TCPConnector(
            resolver=None if reach == ANY else GuardedResolver(reach),
            limit=0,
            keepalive_timeout=KEEP_ALIVE_SECONDS,
        )
        return connector

    async def close(self) -> None:
        connectors, self._connectors = list(self._connectors.values()), {}
        for connector in connectors:
            await connector.close()


def is_stream(response: aiohttp.ClientResponse) -> bool:
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return media_type == "text/event-stream" or media_type.endswith(LINES)


async def read_stream(response: aiohttp.ClientResponse, bounds: Bounds, reserve: Reserve) -> tuple[bytes, bool]:
    """Up to the bounds. The connection of a stream that continues is closed, not used again."""
    inflater = Inflater(response.headers.get("Content-Encoding", ""), bounds.size)
    try:
        async with asyncio.timeout(bounds.stream_seconds):
            async for chunk in response.content.iter_any():
                await reserve.fit(inflater.size + len(chunk), bounds.size)
                if not inflater.feed(chunk):
                    response.close()
                    return inflater.partial()[: bounds.size], False
    except TimeoutError:
        response.close()
        return inflater.partial(), False
    return inflater.partial(), True


async def read_body(response: aiohttp.ClientResponse, limit: int, reserve: Reserve) -> bytes:
    """An answer that says beforehand that it is too large is not read at all."""
    encoding = response.headers.get("Content-Encoding", "")
    inflater = Inflater(encoding, limit) if encoding else None
    declared = response.content_length if inflater is None or inflater.is_plain else None
    if declared is not None:
        if declared > limit:
            raise too_large(response, limit)
        await reserve.fit(declared, declared)
        return await response.read()
    inflater = inflater or Inflater(encoding, limit)
    async for chunk in response.content.iter_any():
        await reserve.fit(inflater.size + len(chunk), limit)
        if not inflater.feed(chunk):
            raise too_large(response, limit)
    return inflater.finish()


async def read_file(
    response: aiohttp.ClientResponse, bounds: Bounds, reserve: Reserve, files: Files, from_bytes: int
) -> tuple[bytes, Kept | None]:
    """The body, or what it is kept as once it has more than so many bytes."""
    inflater = Inflater(response.headers.get("Content-Encoding", ""), bounds.size)
    if inflater.codings > 1:
        return await read_body(response, bounds.size, reserve), None
    declared = response.content_length if inflater.is_plain else None
    held, writer, attempt = bytearray(), None, ATTEMPT.get()
    try:
        async for chunk in response.content.iter_any():
            attempt.renew(bounds.seconds)
            for piece in inflater.pieces(chunk):
                if writer is not None:
                    await writer.write(piece)
                    continue
                await reserve.fit(len(held) + len(piece), from_bytes + len(piece))
                held += piece
                if len(held) > from_bytes:
                    writer = files.begin(response.content_type, name_of(response), declared)
                    await writer.write(bytes(held))
                    held.clear()
        inflater.finish()
        return bytes(held), await writer.finish() if writer is not None else None
    except BaseException:
        response.close()
        if writer is not None:
            await writer.discard()
        raise


def name_of(response: aiohttp.ClientResponse) -> str:
    """As the service calls the file, else as its address ends."""
    disposition = response.content_disposition
    return (disposition.filename if disposition is not None else None) or response.url.name


def too_large(response: aiohttp.ClientResponse, limit: int) -> SourceUnreachable:
    response.close()
    return SourceUnreachable(
        f"{display_url(str(response.url))} answered with more than {limit:,} bytes",
        hint="request less: a page, a filter or a smaller range",
        reason="too_large",
        sent=True,
    )


def unreadable(response: aiohttp.ClientResponse, error: BrokenEncoding) -> SourceUnreachable:
    coding = repr(one_line(response.headers.get("Content-Encoding", ""), 80))
    where, asked = display_url(str(response.url)), f"it was asked for {ACCEPT_ENCODING} or none"
    if isinstance(error, UnknownEncoding):
        message = f"{where} answered with the content encoding {coding}, which can't be read"
        hint = f"the service ignores `Accept-Encoding`: {asked}"
    else:
        message = f"{where} answered with the content encoding {coding}, but {error}"
        hint = "the service, or a proxy in front of it, compresses its responses incorrectly"
    return SourceUnreachable(message, hint=hint, reason="encoding", sent=True, status=response.status)


def unreachable(target: Target, error: Exception, *, sent: bool) -> SourceUnreachable:
    where = target.origin
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        reason, message = "dns", f"the host {target.host} could not be found"
    elif isinstance(error, aiohttp.ClientSSLError):
        reason, message = "tls", f"{where} has no trusted certificate: {cause(error)}"
    elif isinstance(error, aiohttp.ConnectionTimeoutError):
        reason, message = "timeout", f"{where} did not accept a connection in time"
    elif isinstance(error, aiohttp.ClientConnectorError):
        reason, message = "connect", f"{where} could not be reached: {cause(error)}"
    else:
        reason, message = "closed", f"{where} closed the connection before the response was complete"
    hint = "check the address and that the service is running, then try again"
    return SourceUnreachable(message, hint=hint, reason=reason, sent=sent)


def cause(error: Any) -> str:
    return getattr(error, "strerror", None) or type(error).__name__
