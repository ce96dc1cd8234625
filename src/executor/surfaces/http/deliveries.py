"""Large answers on their way to readers of any pace.

They are handed to the server in pieces, so that a connection holds little; what the pieces are cut from stays in memory
up to a bound for all readers together, and is put into a file beyond it. When that fills up too, the reader that took
nothing for the longest time is dropped.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from starlette.types import Message, Scope, Send

from executor.surfaces.http.open_requests import CURRENT, abort

PIECE = 64 * 1024
LARGE = 256 * 1024
MOST_HELD = 32 * 1024 * 1024
MOST_SPILLED = 1024 * 1024 * 1024

logger = logging.getLogger(__name__)
Read = Callable[[int], bytes]  # a piece, from its offset


class Delivery:
    def __init__(self, scope: Scope, size: int) -> None:
        self.scope = scope
        self.size = size
        self.sent = 0
        self.moved_at = time.monotonic()
        self.is_dropped = False


class Deliveries:
    """`held` and `spilled` are the bytes that readers wait for, in memory and in files of this directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._spilling: set[Delivery] = set()
        self.held = 0

    @property
    def spilled_bytes(self) -> int:
        return sum(delivery.size for delivery in self._spilling)

    def sending(self, scope: Scope, send: Send) -> Send:
        async def in_pieces(message: Message) -> None:
            if len(message.get("body", b"")) <= LARGE:
                await send(message)
            elif self.held + len(message["body"]) <= MOST_HELD:
                await self._deliver_held(scope, message, send)
            else:
                await self._deliver_spilled(scope, message, send)

        return in_pieces

    async def _deliver_held(self, scope: Scope, message: Message, send: Send) -> None:
        body: bytes = message["body"]
        self.held += len(body)
        try:
            await self._deliver(Delivery(scope, len(body)), lambda at: body[at : at + PIECE], message, send)
        finally:
            self.held -= len(body)

    async def _deliver_spilled(self, scope: Scope, message: Message, send: Send) -> None:
        """Anyone who made the message must not keep its body either, or nothing is gained."""
        delivery = Delivery(scope, len(message["body"]))
        self._spilling.add(delivery)
        try:
            await self._make_room(delivery)
            with tempfile.TemporaryFile(dir=self._directory) as file:
                await asyncio.to_thread(_write, file.fileno(), message.pop("body"))
                await self._deliver(delivery, lambda at: os.pread(file.fileno(), PIECE, at), message, send)
        except OSError as error:
            logger.error("a large response can't be stored for a slow reader: %s", error)
            await abort(scope)
        finally:
            self._spilling.discard(delivery)

    async def _deliver(self, delivery: Delivery, read: Read, message: Message, send: Send) -> None:
        request, goes_on = CURRENT.get(), message.get("more_body", False)
        while delivery.sent < delivery.size:
            if delivery.is_dropped or (request is not None and await request.has_ended()):
                await abort(delivery.scope)
                return
            piece = read(delivery.sent)
            delivery.sent += len(piece)
            is_last = delivery.sent >= delivery.size
            await send({"type": "http.response.body", "body": piece, "more_body": goes_on or not is_last})
            delivery.moved_at = time.monotonic()

    async def _make_room(self, newest: Delivery) -> None:
        while self.spilled_bytes > MOST_SPILLED and (others := self._spilling - {newest}):
            slowest = min(others, key=lambda delivery: delivery.moved_at)
            slowest.is_dropped = True
            self._spilling.discard(slowest)
            address = (slowest.scope.get("client") or ("",))[0]
            about = {"address": address, "path": slowest.scope["path"], "sent": slowest.sent, "size": slowest.size}
            logger.warning("dropped a slow reader of a large response", extra={"about": about})
            await abort(slowest.scope)


def _write(descriptor: int, body: bytes) -> None:
    view = memoryview(body)
    while view:
        view = view[os.write(descriptor, view) :]
