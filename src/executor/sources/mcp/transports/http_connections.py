"""Connections of the SDK's HTTP library, made only to addresses that were checked."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Iterable
from typing import Any

import httpcore2

from executor.network.addresses import literal, moved_refusal, refusal
from executor.network.private_access import ANY, PUBLIC, Reach
from executor.sources.mcp.sessions.allowance import READ_COST, Allowance

MAX_HINTS = 20
_STATUS = re.compile(rb"\n\r?\nHTTP/1\.[01] (\d)")


class MeteredStream(httpcore2.AsyncNetworkStream):
    """Every byte that a server sends counts here, whatever it is a part of: headers, bodies, comments, padding."""

    def __init__(self, inner: httpcore2.AsyncNetworkStream, allowance: Allowance) -> None:
        self._inner = inner
        self._allowance = allowance
        self._hints_left: int | None = MAX_HINTS
        self._tail = b""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = await self._inner.read(max_bytes, timeout)
        if self._hints_left is not None:
            self._count_hints(data)
        await self._allowance.spend(len(data) + READ_COST)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._hints_left, self._tail = MAX_HINTS, b"\n\n"
        await self._inner.write(buffer, timeout)

    def _count_hints(self, data: bytes) -> None:
        """Before its answer a server may send any number of informational ones, each of which takes long to read."""
        for status in _STATUS.findall(self._tail + data):
            if self._hints_left is None or status != b"1":
                self._hints_left = None
                return
            self._hints_left -= 1
            if self._hints_left < 0:
                raise httpcore2.RemoteProtocolError(
                    f"more than {MAX_HINTS} informational responses came before the answer"
                )
        self._tail = (self._tail + data)[-12:]

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        return MeteredStream(await self._inner.start_tls(ssl_context, server_hostname, timeout), self._allowance)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Names are resolved here, once: the address that was checked is the address that is used."""

    def __init__(self, reach: Reach, allowance: Allowance) -> None:
        self._reach = reach
        self._allowance = allowance
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self._resolve(host, port)
        for address in addresses[:-1]:
            try:
                stream = await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
            return MeteredStream(stream, self._allowance)
        stream = await self._inner.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)
        return MeteredStream(stream, self._allowance)

    async def _resolve(self, host: str, port: int) -> list[str]:
        """Refuses a public name if any of its addresses is private: an attacker chooses which one would be used.

        Of a name that was granted only the granted addresses are used.
        """
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore2.ConnectError(f"the host {host} could not be found") from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        allowed = [address for address in addresses if self._allows(address)]
        if not allowed or (self._reach == PUBLIC and len(allowed) < len(addresses)):
            refused = next((address for address in addresses if address not in allowed), "")
            raise refusal(host, refused) if self._reach == PUBLIC else moved_refusal(host, refused)
        return allowed

    def _allows(self, address: str) -> bool:
        read = literal(address.partition("%")[0])
        return self._reach == ANY or (read is not None and self._reach.allows(read))
