"""Segments in the database, where several processes share one: the first that needs a segment builds it for all.

The others wait for it as long as it is being built. One that can't be read is as good as none.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from executor.storage.catalog import search_segments
from executor.storage.catalog.search_entries import Listed
from executor.storage.database import Database

if TYPE_CHECKING:  # numpy is loaded by the first search, not when the daemon starts
    from executor.catalog.search.index.segment import Segment

LOOK_SECONDS = 0.2
RENEW_SECONDS = 4.0
logger = logging.getLogger(__name__)


class SharedSegments:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._renewed = 0.0

    async def find_or_claim(self, one: Listed) -> Segment | None:
        """None if it is this process that builds it now."""
        version = await asyncio.to_thread(code_version)
        load = partial(search_segments.load, one=one, version=version)
        claim = partial(search_segments.claim, one=one, version=version)
        while (data := await self._database.read(load)) is None:
            if await self._database.write(claim):
                self._renewed = asyncio.get_running_loop().time()
                return None
            await asyncio.sleep(LOOK_SECONDS)
        try:
            return await asyncio.to_thread(read_segment, data)
        except ValueError as error:
            logger.warning("search.segment_unusable", extra={"source": one.source_id, "reason": str(error)})
            return None

    async def renew(self, one: Listed) -> None:
        """Now and then, while it is being built."""
        now = asyncio.get_running_loop().time()
        if now - self._renewed >= RENEW_SECONDS:
            self._renewed = now
            await self._database.write(partial(search_segments.renew, one=one, version=code_version()))

    async def save(self, one: Listed, segment: Segment) -> None:
        data = await asyncio.to_thread(write_segment, segment)
        await self._database.write(partial(search_segments.save, one=one, version=code_version(), data=data))

    async def sweep(self) -> None:
        """Remove what no source offers now. Mostly there is nothing, and then nothing is written."""
        version = await asyncio.to_thread(code_version)
        if await self._database.read(partial(search_segments.has_left_over, version=version)):
            await self._database.write(partial(search_segments.sweep, version=version))


def code_version() -> str:
    from executor.catalog.search.index.segment_files import version

    return version().hex()


def read_segment(data: bytes) -> Segment:
    from executor.catalog.search.index.segment_files import unpack

    return unpack(data)


def write_segment(segment: Segment) -> bytes:
    from executor.catalog.search.index.segment_files import pack

    return pack(segment)
