"""Segments kept in files, so that a restart reads them instead of making them again.

A file is named after the source and the generation of its tools, and begins with a digest of everything that decides
what a segment looks like. One that is missing, damaged or of another version is as good as none: it is built again.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from executor.catalog.search.arrays import np
from executor.catalog.search.index.segment import Segment

MAGIC = b"executor-search\x01"
DIGEST = 16
SUFFIX = ".segment"
ARRAYS = {
    "starts": np.int64, "docs": np.int32, "masks": np.uint16, "heads": np.uint8, "actions": np.uint16,
    "lengths": np.float32, "depths": np.uint8, "flags": np.uint8, "summaries": np.uint8,
}  # fmt: skip
logger = logging.getLogger(__name__)


@cache
def version() -> bytes:
    """Anyone who changes how words or segments are made needs no number to raise."""
    here = Path(__file__).parents[1]
    made_by = (
        "query/tokenizer.py", "query/actions.py", "query/thesaurus.py", "query/phrases.py", "query/words.json",
        "index/segment.py", "index/segment_files.py",
    )  # fmt: skip
    return hashlib.blake2b(b"".join((here / name).read_bytes() for name in made_by), digest_size=DIGEST).digest()


class SegmentFiles:
    """Creates `folder` when something is first kept. Without one nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def load(self, name: str) -> Segment | None:
        if self._folder is None:
            return None
        try:
            data = (self._folder / f"{name}{SUFFIX}").read_bytes()
        except OSError:
            return None
        try:
            return unpack(data)
        except ValueError as error:
            logger.warning("search.segment_unusable", extra={"file": name, "reason": str(error)})
            return None

    def save(self, name: str, segment: Segment) -> None:
        """A search works without; so a full disk is only reported in the log."""
        if self._folder is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            partly = self._folder / f"{name}.{os.getpid()}.part"
            with os.fdopen(os.open(partly, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(pack(segment))
            partly.replace(self._folder / f"{name}{SUFFIX}")
        except OSError as error:
            logger.warning("search.segment_not_kept", extra={"file": name, "reason": error.strerror})

    def sweep(self, names: Collection[str], *, also: str = "") -> None:
        """Remove what no source offers now. `also` is how other files end that live as long as segments."""
        if self._folder is None or not self._folder.is_dir():
            return
        kept = {f"{name}{ending}" for name in names for ending in (SUFFIX, also)}
        for file in self._folder.iterdir():
            if file.name not in kept:
                file.unlink(missing_ok=True)


def pack(segment: Segment) -> bytes:
    arrays = {name: np.ascontiguousarray(getattr(segment, name), dtype=kind) for name, kind in ARRAYS.items()}
    sizes = {name: len(array) for name, array in arrays.items()}
    head = orjson.dumps({"paths": segment.paths, "terms": segment.terms, "sizes": sizes})
    body = b"".join([len(head).to_bytes(8, "little"), head, *(array.tobytes() for array in arrays.values())])
    return MAGIC + version() + digest(body) + body


def unpack(data: bytes) -> Segment:
    """Raises ValueError for anything but what `packed` of this version made."""
    start = len(MAGIC) + 2 * DIGEST
    if data[: len(MAGIC)] != MAGIC or data[len(MAGIC) : len(MAGIC) + DIGEST] != version():
        raise ValueError("it was written by another version")
    body = memoryview(data)[start:]
    if digest(body) != data[len(MAGIC) + DIGEST : start]:
        raise ValueError("it is damaged")
    size = int.from_bytes(body[:8], "little")
    head: dict[str, Any] = orjson.loads(body[8 : 8 + size])
    at, arrays = 8 + size, {}
    for name, kind in ARRAYS.items():
        arrays[name] = np.frombuffer(body, dtype=kind, count=head["sizes"][name], offset=at)
        at += arrays[name].nbytes
    return Segment(paths=head["paths"], terms=head["terms"], **arrays)


def digest(data: bytes | memoryview) -> bytes:
    return hashlib.blake2b(data, digest_size=DIGEST).digest()
