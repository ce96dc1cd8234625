"""Messages for one open response, and how much of them may wait: a client that reads slowly makes its command wait."""

from __future__ import annotations

import asyncio
from collections import deque

from executor.surfaces.mcp.host.message import Message


class Room:
    """Bytes that may wait. One message may exceed what is left, so that a large one gets through at all."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._free = asyncio.Event()

    @property
    def is_full(self) -> bool:
        return self._left <= 0

    async def take(self, size: int) -> None:
        while self.is_full:
            self._free.clear()
            await self._free.wait()
        self._left -= size

    def give(self, size: int) -> None:
        self._left += size
        if self._left > 0:
            self._free.set()


class Outbox:
    """In order, for one reader. Messages that come after it was closed are dropped."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._messages: deque[Message] = deque()
        self._news = asyncio.Event()
        self._is_closed = False

    @property
    def is_over(self) -> bool:
        return self._is_closed and not self._messages

    async def put(self, message: Message) -> None:
        if self._is_closed:
            return
        await self._room.take(len(message.data))
        if self._is_closed:
            self._room.give(len(message.data))
            return
        self._messages.append(message)
        self._news.set()

    def close(self, last: Message | None = None) -> None:
        """What waits is still read, and then `last`."""
        if last is not None and not self._is_closed:
            self._room.give(-len(last.data))
            self._messages.append(last)
        self._is_closed = True
        self._news.set()

    def discard(self) -> None:
        """No one reads it now."""
        self.close()
        while self._messages:
            self.release(self._messages.popleft())

    async def next(self, seconds: float) -> Message | None:
        """None if nothing has come for that long, and at the end. `release` a message once it is sent."""
        while not self._messages:
            if self._is_closed:
                return None
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), seconds)
            except TimeoutError:
                return None
        return self._messages.popleft()

    def release(self, message: Message) -> None:
        self._room.give(len(message.data))
