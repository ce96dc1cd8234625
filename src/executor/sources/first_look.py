"""What a GET of an address said about it, for the kinds that would have to POST to find out."""

from __future__ import annotations

import asyncio
from typing import Literal

# A document, or the stream of an MCP server of the older transport.
Explained = Literal["", "document", "stream"]


class FirstLook:
    """Settled once, as soon as it is clear whether the GET explains the address."""

    def __init__(self) -> None:
        self._settled = asyncio.Event()
        self._explained: Explained = ""

    def settle(self, explained: Explained) -> None:
        if not self._settled.is_set():
            self._explained = explained
            self._settled.set()

    async def result(self) -> Explained:
        await self._settled.wait()
        return self._explained
