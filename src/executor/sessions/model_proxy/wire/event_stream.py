"""Server-sent events as they arrive, in pieces of any size."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_EVENT = 32 * 1024 * 1024
BLANK_LINE = re.compile(rb"\n\r?\n")  # no provider ends its lines with CR alone


class EventTooLarge(Exception):
    """More bytes than an event may have, and still no end of it."""


class EventSplitter:
    """Whole events, each with the blank line that ends it, byte for byte as they came."""

    def __init__(self, limit: int = MAX_EVENT) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """An end may be cut in two: what is held back is looked at again with what follows."""
        held = b"".join(self._pieces) if b"\n" in chunk else b""
        if not held and b"\n" not in chunk:
            self._hold(chunk)
            return
        data, start = held + chunk, 0
        for blank in BLANK_LINE.finditer(data):
            yield data[start : blank.end()]
            start = blank.end()
        self._pieces, self._size = [], 0
        self._hold(data[start:])

    def rest(self) -> bytes:
        """What came after the last whole event."""
        rest, self._pieces, self._size = b"".join(self._pieces), [], 0
        return rest

    def _hold(self, data: bytes) -> None:
        self._pieces.append(data)
        self._size += len(data)
        if self._size > self._limit:
            raise EventTooLarge


def data_of(event: bytes) -> bytes:
    """The text of its `data:` lines."""
    lines = (line[5:].lstrip(b" ") for line in event.splitlines() if line.startswith(b"data:"))
    return b"\n".join(lines)
