"""The search index of each workspace: made by anyone who searches first, from what is kept of each source.

Tools are read and taken apart a few at a time, in threads, so that nothing else has to wait for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from executor.catalog.search.index.entry import Entry
from executor.catalog.search.semantic.vectors import SUFFIX as VECTORS
from executor.catalog.search.semantic.vectors import Encodes, background_worker, find_encoder, vectors_of
from executor.errors import StorageError
from executor.policy.visibility import Visibility
from executor.storage.catalog import search_entries, sources
from executor.storage.catalog.search_entries import EntryRow, Listed
from executor.storage.database import Database

if TYPE_CHECKING:  # numpy is loaded by the first search, not when the daemon starts
    from executor.catalog.search.arrays import Array
    from executor.catalog.search.index.index import Index
    from executor.catalog.search.index.segment import Segment
    from executor.catalog.search.index.shared_segments import SharedSegments

logger = logging.getLogger(__name__)
PIECE = 200
TRIES = 5


class VisibleIndex:
    """An index and, for each visibility, which of its tools may be seen.

    `near` says how near in meaning each tool is to a text; None without the extra, and until the vectors are made.
    """

    def __init__(self, index: Index) -> None:
        self.index = index
        self.near: Callable[[str], Array] | None = None
        self._masks: dict[Hashable, Array] = {}

    def visible(self, visibility: Visibility | None) -> Array | None:
        if visibility is None:
            return None
        if visibility.key not in self._masks:
            from executor.catalog.search.arrays import np

            if len(self._masks) >= 8:
                self._masks.clear()
            from executor.catalog.search.index.segment import EFFECT, EFFECTS

            paths, effects = self.index.paths, (self.index.flags & EFFECT).tolist()
            seen = (not visibility.hides(path, EFFECTS[one]) for path, one in zip(paths, effects, strict=True))
            self._masks[visibility.key] = np.fromiter(seen, bool, len(paths))
        return self._masks[visibility.key]


class Indexes:
    """`folder` is where segments are kept between restarts; without one they stay in memory."""

    def __init__(
        self, database: Database, folder: Path | None = None, *, find: Callable[[], Encodes | None] = find_encoder
    ) -> None:
        self._database = database
        self._find = find
        self._meaning: asyncio.Lock = asyncio.Lock()
        self._encoder: Encodes | None = None
        self._worker: ThreadPoolExecutor | None = None
        self._sought = False
        self._folder = folder
        self._shared = shared_segments(database) if database.processes is not None else None
        self._made: dict[str, asyncio.Future[VisibleIndex]] = {}
        self._segments: dict[str, Segment] = {}
        self._preparing: set[asyncio.Task[VisibleIndex]] = set()
        self._meant: set[asyncio.Task[None]] = set()

    def forget(self, workspace_id: str) -> None:
        self._made.pop(workspace_id, None)

    def forget_all(self) -> None:
        self._made.clear()

    def prepare(self, workspace_id: str) -> None:
        """Begin before anyone searches. If it goes wrong, the next search reports it."""
        task = asyncio.create_task(self.of(workspace_id))
        self._preparing.add(task)
        task.add_done_callback(self._on_prepared)

    def _on_prepared(self, task: asyncio.Task[VisibleIndex]) -> None:
        self._preparing.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.info("an index could not be prepared: %s", task.exception())

    async def close(self) -> None:
        made = [future for future in self._made.values() if not future.done()]
        under_way: list[asyncio.Future[Any]] = [*self._preparing, *self._meant, *made]
        for one in under_way:
            one.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        if self._worker is not None:
            self._worker.shutdown(wait=False, cancel_futures=True)

    async def of(self, workspace_id: str) -> VisibleIndex:
        made = self._made.get(workspace_id)
        if made is None or (made.done() and (made.cancelled() or made.exception() is not None)):
            made = self._made[workspace_id] = asyncio.ensure_future(self._make(workspace_id))
        return await asyncio.shield(made)

    async def _make(self, workspace_id: str) -> VisibleIndex:
        """Again from what has been made so far when a source changes meanwhile."""
        for _ in range(TRIES):
            listed = await self._database.read(partial(search_entries.list_sources, workspace_id=workspace_id))
            segments = [await self._segment(one) for one in listed]
            titles = await self._database.read(partial(sources.titles, workspace_id=workspace_id))
            if listed == await self._database.read(partial(search_entries.list_sources, workspace_id=workspace_id)):
                await self._tidy()
                shown = await asyncio.to_thread(merge_segments, segments, titles)
                self._find_meanings(
                    shown, [(one, len(segment.paths)) for one, segment in zip(listed, segments, strict=True)]
                )
                return shown
        raise StorageError("sources are changing faster than they can be indexed", hint="search again in a moment")

    def _find_meanings(self, shown: VisibleIndex, listed: list[tuple[Listed, int]]) -> None:
        if self._folder is not None:
            task = asyncio.create_task(self._mean(shown, self._folder, listed))
            self._meant.add(task)
            task.add_done_callback(self._meanings_found)

    def _meanings_found(self, task: asyncio.Task[None]) -> None:
        self._meant.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.warning("search.vectors_not_made", extra={"reason": str(task.exception())})

    async def _mean(self, shown: VisibleIndex, folder: Path, listed: list[tuple[Listed, int]]) -> None:
        """Searches continue by words alone meanwhile. One index at a time."""
        async with self._meaning:
            encoder = await self._find_once()
            if encoder is None:
                return
            self._worker = self._worker or background_worker()
            parts = []
            for one, total in listed:
                file = folder / f"{one.source_id}-{one.generation}{VECTORS}"
                part = await vectors_of(encoder, self._worker, file, self._pages(one), total) if total else None
                if part is None and total:
                    return  # the source has changed, so the index is built again
                parts.append(part)
            shown.near = await asyncio.to_thread(nearness_by, encoder, [part for part in parts if part is not None])

    async def _find_once(self) -> Encodes | None:
        if not self._sought:
            self._encoder, self._sought = await asyncio.to_thread(self._find), True
        return self._encoder

    async def _pages(self, one: Listed) -> AsyncIterator[list[Entry]]:
        after = ""
        while rows := await self._database.read(partial(search_entries.page, one=one, after=after, limit=PIECE)):
            yield [entry(row) for row in rows]
            after = rows[-1].path

    async def _segment(self, one: Listed) -> Segment:
        name = f"{one.source_id}-{one.generation}"
        found = self._segments.get(name) or await asyncio.to_thread(load_segment, self._folder, name)
        if found is None:
            found = await self._find_or_build(one)
            if self._folder is not None and await self._is_listed(one):
                await asyncio.to_thread(save, self._folder, name, found)
        if self._folder is None:
            self._segments[name] = found
        return found

    async def _find_or_build(self, one: Listed) -> Segment:
        """Where several processes share the database, one of them builds it for all."""
        if self._shared is None:
            return await self._build(one)
        found = await self._shared.find_or_claim(one)
        if found is None:
            found = await self._build(one)
            await self._shared.save(one, found)
        return found

    async def _build(self, one: Listed) -> Segment:
        building = await asyncio.to_thread(begin_segment)
        async for found in self._pages(one):
            await asyncio.to_thread(building.add, found)
            if self._shared is not None:
                await self._shared.renew(one)
        segment: Segment = await asyncio.to_thread(building.segment)
        return segment

    async def _is_listed(self, one: Listed) -> bool:
        return one in await self._database.read(search_entries.list_sources)

    async def _tidy(self) -> None:
        listed = await self._database.read(search_entries.list_sources)
        names = {f"{one.source_id}-{one.generation}" for one in listed}
        if self._shared is not None:
            await self._shared.sweep()
        self._segments = {name: segment for name, segment in self._segments.items() if name in names}
        if self._folder is not None:
            await asyncio.to_thread(sweep, self._folder, names)


def shared_segments(database: Database) -> SharedSegments:
    from executor.catalog.search.index.shared_segments import SharedSegments

    return SharedSegments(database)


def begin_segment() -> Any:
    from executor.catalog.search.index.segment import Building

    return Building()


def entry(row: EntryRow) -> Entry:
    binding = orjson.loads(row.binding)
    route = f"{binding['method']} {binding['path']}" if "method" in binding and "path" in binding else ""
    properties = orjson.loads(row.input_schema).get("properties")
    parameters = tuple(properties) if isinstance(properties, dict) else ()
    return Entry(
        row.path, row.description, row.effect, tuple(orjson.loads(row.tags)), bool(row.deprecated), route, parameters
    )


def merge_segments(segments: list[Segment], titles: Mapping[str, tuple[str, str]]) -> VisibleIndex:
    from executor.catalog.search.index.index import Index
    from executor.catalog.search.query.apps import App

    return VisibleIndex(Index(segments, {namespace: App(*one) for namespace, one in titles.items()}))


def nearness_by(encoder: Encodes, parts: list[Array]) -> Callable[[str], Array]:
    from executor.catalog.search.arrays import np
    from executor.catalog.search.semantic.encoder import SIZE, nearness

    vectors = np.concatenate(parts) if parts else np.zeros((0, SIZE), np.int8)
    return lambda text: nearness(vectors, encoder.encode([text])[0])


def load_segment(folder: Path | None, name: str) -> Segment | None:
    from executor.catalog.search.index.segment_files import SegmentFiles

    return SegmentFiles(folder).load(name)


def save(folder: Path, name: str, segment: Segment) -> None:
    from executor.catalog.search.index.segment_files import SegmentFiles

    SegmentFiles(folder).save(name, segment)


def sweep(folder: Path, names: set[str]) -> None:
    from executor.catalog.search.index.segment_files import SegmentFiles

    SegmentFiles(folder).sweep(names, also=VECTORS)
