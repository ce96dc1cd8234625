"""One admitted request: sent with the real key, counted while its answer passes, settled whatever happens.

The provider's answer is read to its end even if the agent has left, because only the end says what it cost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import field
from typing import Protocol

import aiohttp

from executor.dataclass import dataclass
from executor.errors import EgressRefused
from executor.model.sessions.model_usage import ModelRequest, RequestState, Usage
from executor.secrets.redaction import redact
from executor.sessions.model_proxy.echo import EchoFilter
from executor.sessions.model_proxy.ledger import Ledger
from executor.sessions.model_proxy.prices import Price
from executor.sessions.model_proxy.request_trace import measure_request
from executor.sessions.model_proxy.upstream import Upstreams
from executor.sessions.model_proxy.wire.chat_usage import ChatUsageFilter
from executor.sessions.model_proxy.wire.endpoints import Route
from executor.sessions.model_proxy.wire.headers import Pairs, answered_headers, sent_headers
from executor.sessions.model_proxy.wire.refusals import Refused, refuse
from executor.sessions.model_proxy.wire.usage import Meter

MAX_ERROR = 1024 * 1024
MAX_ANSWER = 256 * 1024 * 1024
NOTHING = Usage()
DRAIN_SECONDS = 600.0  # for an answer that no one waits for

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Admitted:
    """What was let through. `request` is reserved in the ledger; `release` frees the room that the body takes."""

    request: ModelRequest
    route: Route
    price: Price
    headers: Pairs
    body: bytes
    key: str = field(repr=False)
    hides_usage: bool
    release: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    state: RequestState
    cost: int
    usage: Usage = NOTHING
    status: int = 0


class Delivery(Protocol):
    """The way back to the agent. After `is_gone` nothing is written; none of these raise because it has left."""

    is_gone: bool

    async def begin(self, status: int, headers: Pairs) -> None: ...

    async def write(self, chunk: bytes) -> None: ...

    async def end(self) -> None: ...

    def abort(self) -> None:
        """For an answer that has no end: the agent must not take it for a whole one."""


class Exchange:
    def __init__(self, admitted: Admitted, ledger: Ledger, upstreams: Upstreams, delivery: Delivery) -> None:
        self._admitted = admitted
        self._ledger = ledger
        self._upstreams = upstreams
        self._delivery = delivery
        # What is billed if nothing better becomes known.
        self._outcome = Outcome("estimated", admitted.request.reserved)
        self._is_cut_off = False

    async def run(self) -> None:
        """Raises Refused if the provider could not be reached and nothing was delivered yet."""
        try:
            with measure_request(self._admitted, lambda: self._outcome):
                await self._forward()
        finally:
            self._admitted.release()
            done = self._outcome
            await self._ledger.settle(
                self._admitted.request, state=done.state, cost=done.cost, usage=done.usage, status=done.status
            )
        if self._is_cut_off:
            self._delivery.abort()
        await self._delivery.end()

    async def _forward(self) -> None:
        admitted = self._admitted
        provider = admitted.request.provider
        headers = sent_headers(provider, admitted.headers, admitted.key)
        method, target = admitted.route.endpoint.method, admitted.route.target
        try:
            response = await self._upstreams.send(provider, method, target, headers, admitted.body)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, EgressRefused, OSError) as error:
            self._outcome = Outcome("settled", 0)  # there was no connection, so nothing was sent
            raise self._unreachable(error) from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error) from error
        admitted.release()
        async with response:
            if response.status >= 300:
                await self._pass_error(response)
            else:
                await self._pass_answer(response)

    def _unreachable(self, error: BaseException) -> Refused:
        provider = self._admitted.request.provider
        logger.warning("model.unreachable %s: %s", provider, type(error).__name__)
        if isinstance(error, TimeoutError):
            return refuse("timeout", "upstream", f"{provider} did not answer in time", retry_seconds=5)
        return refuse("unavailable", "upstream", f"{provider} could not be reached", retry_seconds=5)

    async def _pass_error(self, response: aiohttp.ClientResponse) -> None:
        """Providers don't bill errors. A redirect is one: the key goes to one address only."""
        self._outcome = Outcome("settled", 0, status=response.status)
        if response.status < 400:
            raise refuse("unavailable", "redirect", f"{self._admitted.request.provider} answered with a redirect")
        body = await read_at_most(response, MAX_ERROR)
        text = body.decode(errors="replace")
        cleaned = redact(text, (self._admitted.key,))
        await self._delivery.begin(response.status, self._answer_headers(response))
        await self._delivery.write(body if cleaned == text else cleaned.encode())

    async def _pass_answer(self, response: aiohttp.ClientResponse) -> None:
        self._outcome = Outcome("estimated", self._admitted.request.reserved, status=response.status)
        is_stream = response.content_type == "text/event-stream"
        endpoint = self._admitted.route.endpoint
        meter = Meter(endpoint.dialect, is_stream=is_stream) if endpoint.is_metered and endpoint.dialect else None
        await self._delivery.begin(response.status, self._answer_headers(response))
        try:
            await self._pump(response, meter, is_stream)
        except (aiohttp.ClientError, TimeoutError) as error:
            logger.warning("model.cut_off %s: %s", self._admitted.request.provider, type(error).__name__)
            self._is_cut_off = True
        usage = meter.finish() if meter is not None else NOTHING
        if usage is not None:
            self._outcome = Outcome("settled", self._admitted.price.cost(usage), usage, response.status)

    async def _pump(self, response: aiohttp.ClientResponse, meter: Meter | None, is_stream: bool) -> None:
        echo = EchoFilter((self._admitted.key,))
        chat = ChatUsageFilter() if self._admitted.hides_usage and is_stream else None
        async for chunk in self._chunks(response):
            if meter is not None:
                meter.feed(chunk)
            if not self._delivery.is_gone:
                cleaned = echo.feed(chunk)
                await self._delivery.write(chat.feed(cleaned) if chat is not None else cleaned)
        rest = echo.finish()
        await self._delivery.write(chat.feed(rest) + chat.finish() if chat is not None else rest)

    async def _chunks(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        """As they come. Once the agent has left, the rest has so much time and no more."""
        size, loop = 0, asyncio.get_running_loop()
        async with asyncio.timeout(None) as limit:
            async for chunk in response.content.iter_any():
                size += len(chunk)
                if size > MAX_ANSWER:
                    raise aiohttp.ClientPayloadError("the answer is too large")
                if self._delivery.is_gone and limit.when() is None:
                    limit.reschedule(loop.time() + DRAIN_SECONDS)
                yield chunk

    def _answer_headers(self, response: aiohttp.ClientResponse) -> Pairs:
        passed = answered_headers(response.headers.items())
        return [(name, redact(value, (self._admitted.key,))) for name, value in passed]


async def read_at_most(response: aiohttp.ClientResponse, limit: int) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limit:
            response.close()
            break
    return bytes(body[:limit])
