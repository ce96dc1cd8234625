"""Which addresses a connection may be made to, by what a source was granted when it was added.

A grant is text, so that a source's config can keep it: an origin, and for a name that is not loopback itself the
addresses it had (`http://nas.lan:5000 10.0.0.5`). A name is never granted without its addresses: anyone who answers for
it later could point it anywhere.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from executor.dataclass import dataclass
from executor.network.addresses import Address, Target, is_metadata, is_private, is_private_host, literal


@dataclass(frozen=True, slots=True)
class Reach:
    """`addresses` are those of a grant; the other kinds need none."""

    kind: Literal["public", "loopback", "granted", "any"]
    addresses: frozenset[str] = frozenset()

    def allows(self, address: Address) -> bool:
        if self.kind == "public":
            return not is_private(address)
        if self.kind == "loopback":
            return address.is_loopback
        return self.kind == "any" or str(address) in self.addresses


PUBLIC = Reach("public")
LOOPBACK = Reach("loopback")
ANY = Reach("any")


@lru_cache(1_000)
def reach_of(target: Target, grants: frozenset[str]) -> Reach:
    """As far as `grants` go. Of several for one origin, the first in the order of their text."""
    for grant in sorted(grants):
        origin, *addresses = grant.split(" ")
        if origin != target.origin:
            continue
        if literal(target.host) is not None:
            return Reach("granted", frozenset({target.host}))
        if is_private_host(target.host):
            return LOOPBACK
        if addresses:
            return Reach("granted", frozenset(addresses))
    return PUBLIC


def grant_text(target: Target, addresses: Iterable[Address] = ()) -> str:
    return " ".join([target.origin, *sorted(map(str, addresses))])


async def grant_of(target: Target, *, may_be_metadata: bool = False) -> str:
    """Empty for what needs no grant or must not have one. An address that hands out the machine's own credentials is
    granted only where its operator wrote it out."""
    address = literal(target.host)
    if address is not None:
        return grant_text(target) if is_private(address) and (may_be_metadata or not is_metadata(address)) else ""
    if is_private_host(target.host):
        return grant_text(target)
    addresses = await resolve(target)
    if not addresses or not all(is_private(one) and not is_metadata(one) for one in addresses):
        return ""
    return grant_text(target, addresses)


async def resolve(target: Target) -> set[Address]:
    """Nothing for an unknown name: connecting to it will fail with the reason."""
    loop = asyncio.get_running_loop()
    try:
        infos = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return set()
    return {ipaddress.ip_address(info[4][0]) for info in infos}
