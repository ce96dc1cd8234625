"""HTTP connections with bounds that hold before anyone has said who they are.

The parser below bounds neither the number nor the size of headers, takes trailers for headers, and queues pipelined
requests without end. A new connection always finds a place: when all are taken, those that wait longest without a whole
request lose theirs.
"""

from __future__ import annotations

import asyncio
import json
import resource
from collections import Counter
from collections.abc import Set
from functools import lru_cache
from http import HTTPStatus
from itertools import chain
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from executor.errors import AddressTooLong, ExecutorError, HeadersTooLarge, InvalidRequest
from executor.identity.rate_limit import neighbourhood

MAX_HEAD = 64 * 1024
MAX_HEADERS = 200
MAX_TARGET = 16 * 1024
MAX_GAP = 64 * 1024  # of a body's framing between two pieces of its content: chunk extensions, trailers
MAX_PIPELINED = 16
MAX_CONNECTIONS = 4096
FREED = 32  # one part in so many is freed when all places are taken
LINGER_BYTES = 4 * 1024 * 1024
LINGER_SECONDS = 2.0
SOCKET_PATH = b"/socket"
ABORT = "executor.abort"  # in the state of a request: drops its connection
LOST = "executor.lost"  # in the state of a request: called when its connection is lost


class BoundedProtocol(HttpToolsProtocol):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.waiting_since = 0.0  # for the rest of a request, or for the next one
        self._in_head = self._in_body = self._has_moved = False
        self._fed = self._gap = self._discarded = 0
        self._refusal: ExecutorError | None = None

    @property
    def is_answering(self) -> bool:
        """A whole request has come, and its answer has not gone out yet."""
        cycle = self.cycle
        return cycle is not None and not cycle.response_complete and not cycle.more_body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self.waiting_since = self.loop.time()
        if len(self.connections) > most_connections():
            make_room(self.connections, self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.cycle is not None and not self.cycle.response_complete:
            lost = self.cycle.scope["state"].get(LOST)
            if lost is not None:
                lost()

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            self._discard(data)
            return
        was_in_head, was_in_body, self._has_moved = self._in_head, self._in_body, False
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
                return
            # Not offered: answered as if it had not been asked for.
        except httptools.HttpParserError:
            self._refuse(self._refusal or InvalidRequest("the request can't be parsed", hint="send HTTP/1.1"))
            return
        if self._in_head and was_in_head:
            self._fed += len(data)
        if self._in_body and was_in_body:
            self._gap = 0 if self._has_moved else self._gap + len(data)
        if self._in_head and (self._fed > MAX_HEAD or len(self.headers) > MAX_HEADERS):
            self._refuse(headers_too_large())
        elif self._in_body and self._gap > MAX_GAP:
            self._refuse(InvalidRequest("the body's framing is too large", hint="send no trailers"))

    def _should_upgrade_to_ws(self) -> bool:
        """Only at the addresses of WebSockets. What they need is imported for the first one."""
        if self.scope["method"] != "GET" or not self.url.partition(b"?")[0].endswith(SOCKET_PATH):
            return False
        if self.ws_protocol_class is None:
            from executor.daemon.server.socket_protocol import SocketProtocol

            self.ws_protocol_class = self.config.ws_protocol_class = SocketProtocol
        return True

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["state"][ABORT] = self.transport.abort
        self._in_head, self._fed = True, 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > MAX_TARGET:
            self._fail(AddressTooLong(f"the address is longer than {MAX_TARGET} bytes", hint="put it into the body"))

    def on_header(self, name: bytes, value: bytes) -> None:
        """After the head these are trailers, which nothing here reads."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head, self._in_body, self._gap = False, True, 0
        size = len(b"".join(chain.from_iterable(self.headers))) + 4 * len(self.headers)
        if size > MAX_HEAD or len(self.headers) > MAX_HEADERS:
            self._fail(headers_too_large())
        if len(self.pipeline) >= MAX_PIPELINED:
            self._fail(
                InvalidRequest(
                    f"more than {MAX_PIPELINED} requests were sent at once",
                    hint="wait for responses before you send more",
                )
            )
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        self._has_moved = True

    def on_body(self, body: bytes) -> None:
        self._has_moved = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self.waiting_since = self.loop.time()
        super().on_response_complete()

    def _fail(self, refusal: ExecutorError) -> None:
        """From within a callback of the parser, which wraps what is raised."""
        self._refusal = refusal
        raise refusal

    def _refuse(self, refusal: ExecutorError) -> None:
        """Say why, unless that would come in the middle of another answer, and read on for a moment: a client that is
        still sending when its connection closes never sees why."""
        self._refusal, cycle = refusal, self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started or self.pipeline:
                self.transport.close()
                return
        self.transport.write(render_response(refusal))
        self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def _discard(self, data: bytes) -> None:
        self._discarded += len(data)
        if self._discarded > LINGER_BYTES:
            self.transport.abort()


def headers_too_large() -> HeadersTooLarge:
    what = f"the headers exceed {MAX_HEAD // 1024} kB or {MAX_HEADERS} headers"
    return HeadersTooLarge(what, hint="send fewer and shorter headers")


def render_response(error: ExecutorError) -> bytes:
    body = json.dumps(error.to_problem()).encode()
    status = f"{error.status} {HTTPStatus(error.status).phrase}"
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncontent-length: {len(body)}"
    return f"{head}\r\nconnection: close\r\ncache-control: no-store\r\n\r\n".encode() + body


@lru_cache(maxsize=1)
def most_connections() -> int:
    """Half of the files that this process may open are for everything else."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if files == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, files // 2)


def make_room(connections: Set[Any], newest: BoundedProtocol) -> None:
    """Of the address with the most connections first. What is being answered stays; if that is all, no one comes in."""
    waiting = [one for one in connections if not one.is_answering and one is not newest]
    if not waiting:
        newest.transport.abort()
        return
    near = {one: neighbourhood(one.client[0]) if one.client else "" for one in waiting}
    most = Counter(near.values())
    waiting.sort(key=lambda one: (-most[near[one]], one.waiting_since))
    for one in waiting[: max(1, len(connections) // FREED)]:
        one.transport.abort()
