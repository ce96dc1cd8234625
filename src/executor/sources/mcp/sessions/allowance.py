"""How much a server may send: one answer for each request under way, and a little besides.

A server may say things that no one asked for (pings, log messages, comments on a stream), without end. Nothing of it
is refused; past the allowance it is read slowly, so that the server waits and not the daemon.
"""

from __future__ import annotations

import asyncio

SPARE_BYTES = 4_000_000  # beyond the answers that are due
BYTES_PER_SECOND = 1_000_000  # when all that is used up
READ_COST = 500  # of one line or one packet, however short
MESSAGE_COST = 1_500  # of looking at one message, besides its bytes
REQUEST_COST = 20_000  # of a message that wants an answer


class Allowance:
    """`limit` is the size of one answer."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._under_way = 0
        self._left: float = SPARE_BYTES
        self._last = asyncio.get_running_loop().time()

    def begin_request(self) -> None:
        self._under_way += 1
        self._left += self._limit

    def end_request(self) -> None:
        """What an answer did not use is not kept: a thousand short answers entitle to nothing."""
        self._under_way -= 1
        self._left = min(self._left, self._most)

    async def spend(self, size: int) -> None:
        now = asyncio.get_running_loop().time()
        self._left = min(self._most, self._left + (now - self._last) * BYTES_PER_SECOND) - size
        self._last = now
        if self._left < 0:
            await asyncio.sleep(-self._left / BYTES_PER_SECOND)

    @property
    def _most(self) -> int:
        return SPARE_BYTES + self._limit * self._under_way
