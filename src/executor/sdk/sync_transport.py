"""Flows and requests of programs without an event loop, over the standard library. Any number of threads may use it."""

from __future__ import annotations

import http.client
import inspect
import os
import select
import time
from collections import deque
from collections.abc import Generator
from typing import Any, Protocol, TypeVar

from executor.errors import InvalidRequest, ReplyLost
from executor.sdk.flow import Ask, Close, Emissions, Emit, Flow, Open, Pause, Read, Reply, Request, Step
from executor.sdk.location import Address, Location
from executor.sdk.message import encode, no_answer, no_connection, target

T = TypeVar("T")
CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 60.0  # of a stream, which has a heartbeat every 15 seconds
BROKEN = (OSError, http.client.HTTPException)


class BlockingStream(Protocol):
    def read(self) -> bytes: ...
    def close(self) -> None: ...


class BlockingTransport(Protocol):
    def send(self, request: Request) -> Reply: ...
    def open(self, request: Request) -> BlockingStream | Reply: ...
    def close(self) -> None: ...


class BlockingDriver:
    def __init__(self, transport: BlockingTransport) -> None:
        self.transport = transport

    def run(self, flow: Flow[T]) -> T:
        try:
            step = next(flow)
            while True:
                outcome, error = self._try(step)
                step = flow.send(outcome) if error is None else flow.throw(error)
        except StopIteration as end:
            value: T = end.value
            return value

    def iterate(self, flow: Emissions[T]) -> Generator[T, None, None]:
        """Closes the stream that is open when no one reads on."""
        stream: BlockingStream | None = None
        try:
            step = next(flow)
            while True:
                if isinstance(step, Emit):
                    yield step.value
                    step = flow.send(None)
                    continue
                outcome, error = self._try(step)
                step = flow.send(outcome) if error is None else flow.throw(error)
                stream = step.stream if isinstance(step, Read) else stream
        except StopIteration:
            return
        finally:
            if stream is not None:
                stream.close()
            flow.close()

    def _try(self, step: Step) -> tuple[Any, Exception | None]:
        try:
            return self._take(step), None
        except Exception as error:  # noqa: BLE001 - the flow decides
            return None, error

    def _take(self, step: Step) -> Any:
        match step:
            case Request():
                return self.transport.send(step)
            case Open(request):
                return self.transport.open(request)
            case Read(stream):
                return stream.read()
            case Close(stream):
                return stream.close()
            case Pause(seconds):
                return time.sleep(seconds)
            case Ask(function, value):
                answer = function(value)
                if inspect.isawaitable(answer):
                    if inspect.iscoroutine(answer):
                        answer.close()
                    raise InvalidRequest("the callback must be awaited", hint="use AsyncExecutor, or a plain function")
                return answer


class Line:
    """One connection, with the address that it leads to."""

    def __init__(self, address: Address) -> None:
        kind = http.client.HTTPSConnection if address.secure else http.client.HTTPConnection
        self.address = address
        self.connection = kind(address.host, address.port, timeout=CONNECT_SECONDS)
        try:
            self.connection.connect()
        except OSError as error:
            raise no_connection(address.url, error) from error

    def exchange(self, request: Request, seconds: float) -> http.client.HTTPResponse:
        body, headers = encode(request, self.address.headers)
        try:
            self.connection.sock.settimeout(seconds)
            self.connection.request(request.method, target(self.address.prefix, request), body, headers)
            return self.connection.getresponse()
        except BROKEN as error:
            raise self.lose(error) from error

    def read_reply(self, response: http.client.HTTPResponse) -> Reply:
        try:
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        except BROKEN as error:
            raise self.lose(error) from error

    def lose(self, error: Exception) -> ReplyLost:
        self.connection.close()
        return no_answer(self.address.url, error)

    @property
    def is_usable(self) -> bool:
        """Not if the other side has closed it: nothing is due on an idle connection."""
        return self.connection.sock is not None and not select.select([self.connection.sock], [], [], 0)[0]


class LineStream:
    def __init__(self, line: Line, response: http.client.HTTPResponse) -> None:
        self._line = line
        self._response = response

    def read(self) -> bytes:
        try:
            return self._response.read1(65536)
        except BROKEN as error:
            raise self._line.lose(error) from error

    def close(self) -> None:
        self._response.close()
        self._line.connection.close()


class HttpTransport:
    """Connections are kept open, and each is used by one thread at a time."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._idle: deque[Line] = deque()
        self._pid = os.getpid()

    def send(self, request: Request) -> Reply:
        line = self._take_line()
        reply = line.read_reply(line.exchange(request, request.seconds))
        self._idle.append(line)
        return reply

    def open(self, request: Request) -> BlockingStream | Reply:
        line = self._take_line()
        response = line.exchange(request, SILENCE_SECONDS)
        if response.status < 400 and response.headers.get_content_type() == "text/event-stream":
            return LineStream(line, response)
        return line.read_reply(response)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().connection.close()

    def _take_line(self) -> Line:
        if self._pid != os.getpid():  # forked: those connections belong to the parent
            self._idle, self._pid = deque(), os.getpid()
        while self._idle:
            line = self._idle.pop()
            if line.is_usable:
                return line
            line.connection.close()
        return Line(self._location.find())
