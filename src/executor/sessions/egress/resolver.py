"""Names become addresses once, and only addresses that may be reached; a connection goes to exactly these."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from executor.errors import EgressRefused, SourceUnreachable
from executor.network.addresses import Address, is_metadata, is_private

LOOKUPS = 8  # at once; in threads of their own, so that a name server that hangs holds up nothing else
LOOKUP_SECONDS = 10.0
CONNECT_SECONDS = 15.0
MOST_TRIED = 4

Lookup = Callable[[str, int], Sequence[str]]


def look_up(host: str, port: int) -> list[str]:
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


class Resolver:
    def __init__(self, lookup: Lookup = look_up, *, allow_private: bool = False) -> None:
        self._lookup = lookup
        self._allow_private = allow_private
        self._threads = ThreadPoolExecutor(LOOKUPS, thread_name_prefix="egress-dns")

    async def resolve(self, host: str, port: int) -> list[Address]:
        """Refused if any of the addresses is private: the owner of the name chooses which one is used."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                found = await loop.run_in_executor(self._threads, self._lookup, host, port)
        except (OSError, UnicodeError, TimeoutError) as error:
            raise unreachable(host, "its name could not be resolved", "dns") from error
        addresses = [ipaddress.ip_address(text.partition("%")[0]) for text in found]
        if not addresses:
            raise unreachable(host, "it has no address", "dns")
        for address in addresses:
            if is_metadata(address) or (is_private(address) and not self._allow_private):
                raise EgressRefused(
                    f"{host} resolves to {address}, which is on a private or reserved network",
                    hint="allow a public host instead",
                    reason="private_address",
                )
        return addresses

    async def connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        for address in (await self.resolve(host, port))[:MOST_TRIED]:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    return await asyncio.open_connection(str(address), port)
            except (OSError, TimeoutError):
                continue
        raise unreachable(host, "it accepts no connection", "connect")

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def unreachable(host: str, why: str, reason: str) -> SourceUnreachable:
    return SourceUnreachable(f"{host} could not be reached: {why}", hint="try again later", reason=reason)
