"""Vectors of the tools of each source, for nearness in meaning: made in the background, kept beside the segments.

A file belongs to one state of one source and grows as vectors are made, so that a restart continues where it stopped.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from executor.catalog.search.index.entry import Entry

if TYPE_CHECKING:
    from executor.catalog.search.arrays import Array

logger = logging.getLogger(__name__)
SUFFIX = ".2.vectors"  # the number changes with the text that a vector encodes
BATCH = 16
LOW_PRIORITY = 15


class Encodes(Protocol):
    def encode(self, texts: Sequence[str]) -> Array: ...


def find_encoder() -> Encodes | None:
    """None without the extra `semantic`; loading takes a quarter of a second, so in a thread."""
    from executor.catalog.search.semantic.model_files import weights_file

    file = weights_file()
    if file is None:
        return None
    from executor.catalog.search.semantic.encoder import Encoder

    try:
        return Encoder(file)
    except (OSError, ValueError, RuntimeError) as error:
        logger.warning("search.model_unusable", extra={"reason": str(error)})
        return None


def background_worker() -> ThreadPoolExecutor:
    """One thread that gives way to all others, for as long as it lives."""
    return ThreadPoolExecutor(1, "vectors", initializer=give_way)


def give_way() -> None:
    with suppress(OSError, AttributeError):  # Linux alone can do it for one thread
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOW_PRIORITY)


async def vectors_of(
    encoder: Encodes, worker: Executor, file: Path, pages: AsyncIterator[list[Entry]], total: int
) -> Array | None:
    """In the order of the entries; None when the source has changed meanwhile."""
    done = await asyncio.to_thread(count, file)
    seen = 0
    async for entries in pages:
        for start in range(0, len(entries), BATCH):
            batch = entries[start : start + BATCH]
            if seen + len(batch) > done:
                fresh = batch[max(0, done - seen) :]
                await asyncio.get_running_loop().run_in_executor(worker, extend, encoder, file, done, fresh)
                done += len(fresh)
            seen += len(batch)
    return await asyncio.to_thread(read, file) if seen == done == total else None


def extend(encoder: Encodes, file: Path, done: int, entries: list[Entry]) -> None:
    from executor.catalog.search.semantic.encoder import SIZE, pack_vectors, text_of

    vectors = pack_vectors(encoder.encode([text_of(one) for one in entries]))
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as out:
        out.truncate(done * SIZE)
        out.seek(0, os.SEEK_END)
        out.write(vectors.tobytes())


def count(file: Path) -> int:
    from executor.catalog.search.semantic.encoder import SIZE

    return file.stat().st_size // SIZE if file.is_file() else 0


def read(file: Path) -> Array:
    from executor.catalog.search.arrays import np
    from executor.catalog.search.semantic.encoder import SIZE

    data = np.fromfile(file, dtype=np.int8)
    return data[: len(data) // SIZE * SIZE].reshape(-1, SIZE)
