"""How often an address may fail. A failure costs one of a few tries, which come back with time.

Only failures count, and only failures are refused: what is good is let in however many others failed before it.
"""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from executor.errors import RateLimited, Unauthorized

MOST_ADDRESSES = 4096
LOOPBACK = "127.0.0.1"


class RateLimit:
    """Bounded: of more addresses than fit, the one seen longest ago is forgotten."""

    def __init__(
        self, tries: int, per_second: float, *, most: int = MOST_ADDRESSES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tries = tries
        self._per_second = per_second
        self._most = most
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, address: str) -> None:
        """Refuses when nothing is left."""
        left = self._now(neighbourhood(address))
        if left < 1:
            seconds = math.ceil((1 - left) / self._per_second)
            raise RateLimited(
                f"too many attempts from {address or 'this address'}",
                hint=f"wait {seconds} s, then try again",
                seconds=seconds,
            )

    def spend(self, address: str) -> None:
        near = neighbourhood(address)
        self._left[near] = (max(0.0, self._now(near) - 1), self._clock())
        self._left.move_to_end(near)
        if len(self._left) > self._most:
            self._left.popitem(last=False)

    def take(self, address: str) -> None:
        """For what is limited even when it succeeds."""
        self.check(address)
        self.spend(address)

    @contextmanager
    def limit_failures(self, address: str) -> Iterator[None]:
        """Counts an attempt if the block raises Unauthorized; with none left, the caller has to wait."""
        try:
            yield
        except Unauthorized:
            self.take(address)
            raise

    def clear(self) -> None:
        self._left.clear()

    def __len__(self) -> int:
        return len(self._left)

    def _now(self, near: str) -> float:
        left, at = self._left.get(near, (float(self._tries), self._clock()))
        return min(self._tries, left + (self._clock() - at) * self._per_second)


def neighbourhood(address: str) -> str:
    """Anyone who has one IPv6 address has 2^64 of them, and anyone who is on this machine has all of its own."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is None and not found.is_loopback:
            return str(ipaddress.ip_network((int(found), 64), strict=False))
        found = found.ipv4_mapped or found
    return LOOPBACK if found.is_loopback else str(found)
