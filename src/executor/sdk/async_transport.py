"""Flows and requests of programs with an event loop, over aiohttp, which is imported with the first request."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from executor.sdk.flow import Ask, Close, Emissions, Emit, Flow, Open, Pause, Read, Reply, Request, Step
from executor.sdk.message import encode, no_answer, no_connection, target

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

    from executor.sdk.location import Location

T = TypeVar("T")
CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 60.0  # of a stream, which has a heartbeat every 15 seconds


class AwaitingStream(Protocol):
    async def read(self) -> bytes: ...
    async def close(self) -> None: ...


class AwaitingTransport(Protocol):
    async def send(self, request: Request) -> Reply: ...
    async def open(self, request: Request) -> AwaitingStream | Reply: ...
    async def close(self) -> None: ...


class AwaitingDriver:
    def __init__(self, transport: AwaitingTransport) -> None:
        self.transport = transport

    async def run(self, flow: Flow[T]) -> T:
        try:
            step = next(flow)
            while True:
                outcome, error = await self._try(step)
                step = flow.send(outcome) if error is None else flow.throw(error)
        except StopIteration as end:
            value: T = end.value
            return value

    async def iterate(self, flow: Emissions[T]) -> AsyncGenerator[T, None]:
        """Closes the stream that is open when no one reads on."""
        stream: AwaitingStream | None = None
        try:
            step = next(flow)
            while True:
                if isinstance(step, Emit):
                    yield step.value
                    step = flow.send(None)
                    continue
                outcome, error = await self._try(step)
                step = flow.send(outcome) if error is None else flow.throw(error)
                stream = step.stream if isinstance(step, Read) else stream
        except StopIteration:
            return
        finally:
            if stream is not None:
                await stream.close()
            flow.close()

    async def _try(self, step: Step) -> tuple[Any, Exception | None]:
        try:
            return await self._take(step), None
        except Exception as error:  # noqa: BLE001 - the flow decides
            return None, error

    async def _take(self, step: Step) -> Any:
        match step:
            case Request():
                return await self.transport.send(step)
            case Open(request):
                return await self.transport.open(request)
            case Read(stream):
                return await stream.read()
            case Close(stream):
                return await stream.close()
            case Pause(seconds):
                return await asyncio.sleep(seconds)
            case Ask(function, value):
                answer = function(value)
                return await answer if inspect.isawaitable(answer) else answer


class HttpStream:
    def __init__(self, response: ClientResponse, url: str) -> None:
        self._response = response
        self._url = url

    async def read(self) -> bytes:
        from aiohttp import ClientError

        try:
            return await self._response.content.readany()
        except (ClientError, OSError) as error:
            raise no_answer(self._url, error) from error

    async def close(self) -> None:
        self._response.close()


class HttpTransport:
    """One pool of connections, in the loop of the first request."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._session: ClientSession | None = None

    async def send(self, request: Request) -> Reply:
        response, url = await self._exchange(request, request.seconds)
        return await _read_reply(response, url)

    async def open(self, request: Request) -> AwaitingStream | Reply:
        response, url = await self._exchange(request, SILENCE_SECONDS)
        if response.status < 400 and response.content_type == "text/event-stream":
            return HttpStream(response, url)
        return await _read_reply(response, url)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _exchange(self, request: Request, seconds: float) -> tuple[ClientResponse, str]:
        from aiohttp import ClientConnectorError, ClientError, ClientTimeout
        from yarl import URL

        address = self._location.find()
        body, headers = encode(request, address.headers)
        url = URL(f"{address.origin}{target(address.prefix, request)}", encoded=True)
        timeout = ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=seconds)
        try:
            response = await self._open_session().request(
                request.method, url, data=body, headers=headers, timeout=timeout, allow_redirects=False
            )
        except ClientConnectorError as error:
            raise no_connection(address.url, error.os_error) from error
        except (ClientError, OSError) as error:
            raise no_answer(address.url, error) from error
        return response, address.url

    def _open_session(self) -> ClientSession:
        if self._session is None:
            from aiohttp import ClientSession, DummyCookieJar, TCPConnector

            self._session = ClientSession(connector=TCPConnector(limit=0), cookie_jar=DummyCookieJar())
        return self._session


async def _read_reply(response: ClientResponse, url: str) -> Reply:
    from aiohttp import ClientError

    async with response:
        try:
            body = await response.read()
        except (ClientError, OSError) as error:
            raise no_answer(url, error) from error
        return Reply(response.status, {name.lower(): value for name, value in response.headers.items()}, body)
