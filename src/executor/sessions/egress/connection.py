"""One connection of an agent to the egress proxy: decide, then connect, then pass bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from executor.errors import EgressRefused, ExecutorError, SourceUnreachable
from executor.sessions.egress import relay
from executor.sessions.egress.client_hello import MAX_HELLO, NotTls, read_server_name
from executor.sessions.egress.host_list import HostList, HostPattern
from executor.sessions.egress.relay import LimitReached, Traffic
from executor.sessions.egress.request_head import (
    MAX_HEAD,
    SAFE_METHODS,
    RequestHead,
    Wanted,
    bad_request,
    body_length,
    parse_head,
    read_forward,
    read_tunnel,
    write_forward,
)
from executor.sessions.egress.resolver import Resolver

HEAD_SECONDS = 30.0
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
# Whether it was allowed, the host and port as far as they were understood, and a word for why not.
NoteDecision = Callable[[bool, str, int, str], None]


class AgentConnection:
    """`hosts` decides before any name is resolved, and `note_decision` hears of everything that was decided."""

    def __init__(
        self, streams: Streams, hosts: HostList, resolver: Resolver, traffic: Traffic, note_decision: NoteDecision
    ) -> None:
        self._reader, self._writer = streams
        self._hosts = hosts
        self._resolver = resolver
        self._traffic = traffic
        self._note_decision = note_decision
        self.wanted: Wanted | None = None

    async def serve(self) -> None:
        try:
            head = await self._read_head()
            if head is not None:
                await (self._tunnel(head) if head.method == "CONNECT" else self._forward(head))
        except EgressRefused as error:
            reason = str(error.details.get("reason", "not_allowed"))
            self._note(False, reason, str(error.details.get("host", "")))
            await self._answer(400 if reason == "malformed" else 403, error)
        except SourceUnreachable as error:
            self._note(False, str(error.details["reason"]))
            await self._answer(502, error)
        except LimitReached:
            self._note(False, "limit")
        except (OSError, TimeoutError):
            return
        finally:
            await close(self._writer)

    async def _read_head(self) -> RequestHead | None:
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                return parse_head(await self._reader.readuntil(b"\r\n\r\n"))
        except asyncio.IncompleteReadError as error:
            if not error.partial:
                return None
            raise bad_request("it ends too early") from error
        except (asyncio.LimitOverrunError, TimeoutError) as error:
            raise bad_request(f"its head is longer than {MAX_HEAD} bytes, or never ends") from error

    async def _tunnel(self, head: RequestHead) -> None:
        """Whatever is inside must be TLS, for the host that was allowed."""
        wanted, entry = self._decide(read_tunnel(head))
        async with self._connect(wanted) as upstream:
            self._writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            hello = await self._read_hello(wanted)
            self._note(True)
            upstream[1].write(hello)
            upload = relay.READ_ONLY_UPLOAD if entry.read_only else relay.UPLOAD
            await self._pass_both(upstream, max(upload - len(hello), 0))

    async def _forward(self, head: RequestHead) -> None:
        wanted, entry = self._decide(read_forward(head))
        size = body_length(head)
        if entry.read_only and (head.method not in SAFE_METHODS or size):
            raise EgressRefused(
                f"{wanted.host} is read-only for this session", hint="only GET and HEAD are allowed", reason="read_only"
            )
        if size > relay.UPLOAD:
            raise bad_request("its body is too large")
        async with self._connect(wanted) as upstream:
            self._note(True)
            upstream[1].write(write_forward(head, wanted))
            await relay.copy_exactly(self._reader, upstream[1], size, self._traffic)
            await upstream[1].drain()
            await relay.copy(upstream[0], self._writer, relay.DOWNLOAD, self._traffic)

    def _decide(self, wanted: Wanted) -> tuple[Wanted, HostPattern]:
        self.wanted = wanted
        return wanted, self._hosts.find(wanted.host, wanted.port)

    @asynccontextmanager
    async def _connect(self, wanted: Wanted) -> AsyncIterator[Streams]:
        upstream = await self._resolver.connect(wanted.host, wanted.port)
        try:
            yield upstream
        finally:
            await close(upstream[1])

    async def _read_hello(self, wanted: Wanted) -> bytes:
        data = b""
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                while (name := read_server_name(data)) is None:
                    chunk = await self._reader.read(MAX_HELLO)
                    if not chunk:
                        raise ConnectionResetError
                    data += chunk
        except NotTls as error:
            self._note(False, "not_tls")
            raise ConnectionResetError from error
        if name != wanted.host:
            self._note(False, "sni_mismatch")
            raise ConnectionResetError
        return data

    async def _pass_both(self, upstream: Streams, upload: int) -> None:
        """The end of one direction leaves the other open; a failure of one ends both."""
        directions = [
            asyncio.create_task(relay.copy(self._reader, upstream[1], upload, self._traffic)),
            asyncio.create_task(relay.copy(upstream[0], self._writer, relay.DOWNLOAD, self._traffic)),
        ]
        try:
            await asyncio.gather(*directions)
        finally:
            for one in directions:
                one.cancel()
            await asyncio.gather(*directions, return_exceptions=True)

    def _note(self, allowed: bool, reason: str = "", host: str = "") -> None:
        host, port = (self.wanted.host, self.wanted.port) if self.wanted is not None else (host, 0)
        self._note_decision(allowed, host, port, reason)

    async def _answer(self, status: int, error: ExecutorError) -> None:
        phrase = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway"}[status]
        body = f"Executor: {error.message}\n".encode("ascii", "replace")
        head = f"HTTP/1.1 {status} {phrase}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
        with suppress(OSError, TimeoutError):
            self._writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
            async with asyncio.timeout(HEAD_SECONDS):
                await self._writer.drain()


async def close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(1.0):
            await writer.wait_closed()
