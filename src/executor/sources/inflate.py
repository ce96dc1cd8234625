"""Bounded decompression: a small answer must not become a large one before anyone counts."""

from __future__ import annotations

import zlib

GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class BrokenEncoding(Exception):
    """A body that is not what its content encoding says."""


class Inflater:
    """Collects a body, decompressed, up to `limit` bytes."""

    def __init__(self, encoding: str, limit: int) -> None:
        self._encoding = encoding.strip().lower()
        self._limit = self._room = limit
        self._chunks: list[bytes] = []
        self._zlib = zlib.decompressobj(GZIP_OR_ZLIB) if self._encoding in ("gzip", "x-gzip", "deflate") else None
        if self._zlib is None and not self.is_plain:
            raise BrokenEncoding(f"unknown content encoding {self._encoding[:40]!r}")

    @property
    def is_plain(self) -> bool:
        return self._encoding in ("", "identity")

    @property
    def size(self) -> int:
        """How many bytes there are by now."""
        return self._limit - self._room

    def feed(self, chunk: bytes) -> bool:
        """False when the limit is passed."""
        data = chunk if self._zlib is None else self._inflate(chunk)
        self._room -= len(data)
        self._chunks.append(data)
        return self._room >= 0

    def finish(self) -> bytes:
        if self._zlib is not None and self._chunks and not self._zlib.eof:
            raise BrokenEncoding("the compressed answer is cut off")
        return b"".join(self._chunks)

    def partial(self) -> bytes:
        """What there is of a body that was not read to its end."""
        return b"".join(self._chunks)

    def _inflate(self, chunk: bytes) -> bytes:
        assert self._zlib is not None  # noqa: S101 - only called with a decompressor
        try:
            return self._zlib.decompress(chunk, self._room + 1)
        except zlib.error as error:
            if self._encoding == "deflate" and not self._chunks:  # some servers leave the zlib header out
                self._encoding, self._zlib = "raw", zlib.decompressobj(-zlib.MAX_WBITS)
                return self._inflate(chunk)
            raise BrokenEncoding(f"the compressed answer is broken: {error}") from error
