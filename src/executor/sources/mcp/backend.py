"""Connections of the SDK's HTTP library, made only to addresses that were checked."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable

import httpcore2

from executor.sources.addresses import literal, moved, refusal
from executor.sources.reach import ANY, PUBLIC, Reach


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Names are resolved here, once: the address that was checked is the address that is used."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
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
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._inner.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

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
            raise refusal(host, refused) if self._reach == PUBLIC else moved(host, refused)
        return allowed

    def _allows(self, address: str) -> bool:
        read = literal(address.partition("%")[0])
        return self._reach == ANY or (read is not None and self._reach.allows(read))
