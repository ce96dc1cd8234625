"""Which addresses a connection may be made to, by what a source was granted when it was added.

A grant is text, so that a source's config can keep it: an origin, and for a name that is not loopback by itself the
addresses it had (`http://nas.lan:5000 10.0.0.5`). A name is never granted without its addresses: whoever answers for
it later could point it anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from executor.sources.addresses import Address, Target, is_private, is_private_host, literal


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
