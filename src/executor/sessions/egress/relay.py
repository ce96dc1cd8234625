"""Bytes in both directions, as fast as the slower side takes them, and not without end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

CHUNK = 64 * 1024
IDLE_SECONDS = 300.0
MEGABYTE = 1024 * 1024
UPLOAD = 256 * MEGABYTE  # of one connection
READ_ONLY_UPLOAD = MEGABYTE  # enough for thousands of requests, and not for much of a repository
DOWNLOAD = 4096 * MEGABYTE
SESSION_BYTES = 16 * 1024 * MEGABYTE


class LimitReached(Exception):
    """More bytes than a connection or its session may carry."""


@dataclass(slots=True)
class Traffic:
    """Of one session, over all its connections."""

    left: int = SESSION_BYTES

    def count(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise LimitReached


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int, traffic: Traffic) -> None:
    """Until one side ends, is silent for too long, or has sent `limit` bytes."""
    while chunk := await read_some(reader):
        limit -= len(chunk)
        if limit < 0:
            raise LimitReached
        traffic.count(len(chunk))
        writer.write(chunk)
        async with asyncio.timeout(IDLE_SECONDS):
            await writer.drain()
    if writer.can_write_eof():
        with suppress(OSError):
            writer.write_eof()


async def copy_exactly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int, traffic: Traffic) -> None:
    """So many bytes and not one more. An end before that ends the connection."""
    while size:
        chunk = await read_some(reader, min(size, CHUNK))
        if not chunk:
            raise ConnectionResetError
        size -= len(chunk)
        traffic.count(len(chunk))
        writer.write(chunk)
        async with asyncio.timeout(IDLE_SECONDS):
            await writer.drain()


async def read_some(reader: asyncio.StreamReader, size: int = CHUNK) -> bytes:
    async with asyncio.timeout(IDLE_SECONDS):
        return await reader.read(size)
