"""Bounded decompression: a small answer must not become a large one before anyone counts."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
ZSTD_WINDOW: Mapping[int, int] = {
    zstd.DecompressionParameter.window_log_max: 23
}  # 8 MiB, the most that HTTP allows (RFC 9659)
PIECE = 256 * 1024
MAX_CODINGS = 3
PLAIN = frozenset({"", "identity"})


class BrokenEncoding(Exception):
    """A body that is not what its content encoding says."""


class UnknownEncoding(BrokenEncoding):
    """A content encoding that can't be read."""


class Decoder(Protocol):
    """Takes compressed bytes, gives plain ones piece by piece. `is_over` once a whole message was read."""

    @property
    def is_over(self) -> bool: ...

    @property
    def has_more(self) -> bool:
        """Another message follows in what was given; of one that is empty nothing comes out."""

    def decode(self, data: bytes, most: int) -> bytes:
        """With no data: more of what was given before. Empty when it needs more input."""


class Zlib:
    """`gzip`, also of several members, and `deflate`, also without the header that some servers leave out."""

    def __init__(self, *, is_gzip: bool) -> None:
        self._is_gzip = is_gzip
        self._has_begun = False
        self._inner = zlib.decompressobj(GZIP_OR_ZLIB)

    @property
    def is_over(self) -> bool:
        return self._inner.eof

    @property
    def has_more(self) -> bool:
        """Some servers pad what they compress: only what begins like a member is one."""
        return self._is_gzip and self._inner.unused_data.startswith(b"\x1f")

    def decode(self, data: bytes, most: int) -> bytes:
        data = self._inner.unconsumed_tail + data
        if self._inner.eof:
            data = self._inner.unused_data + data
            if not self._is_gzip or not data.startswith(b"\x1f"):
                return b""
            self._inner = zlib.decompressobj(GZIP_OR_ZLIB)
        if not data:
            return b""
        try:
            out = self._inner.decompress(data, most)
        except zlib.error:
            if self._is_gzip or self._has_begun:
                raise
            self._inner = zlib.decompressobj(-zlib.MAX_WBITS)
            out = self._inner.decompress(data, most)
        self._has_begun = True
        return out


class Brotli:
    def __init__(self) -> None:
        self._inner = brotli.Decompressor()

    @property
    def is_over(self) -> bool:
        return bool(self._inner.is_finished())

    @property
    def has_more(self) -> bool:
        return False

    def decode(self, data: bytes, most: int) -> bytes:
        if self._inner.is_finished():
            return b""
        out: bytes = self._inner.process(data, output_buffer_limit=most)
        return out


class Zstd:
    """Frames one after another are one body; dictionaries are not read."""

    def __init__(self) -> None:
        self._inner = zstd.ZstdDecompressor(options=ZSTD_WINDOW)

    @property
    def is_over(self) -> bool:
        return self._inner.eof

    @property
    def has_more(self) -> bool:
        return self._inner.eof and bool(self._inner.unused_data)

    def decode(self, data: bytes, most: int) -> bytes:
        if self._inner.eof:
            data = self._inner.unused_data + data
            if not data:
                return b""
            self._inner = zstd.ZstdDecompressor(options=ZSTD_WINDOW)
        elif not data and self._inner.needs_input:
            return b""
        return self._inner.decompress(data, most)


# What `Accept-Encoding` asks for; `x-gzip` is only understood.
CODINGS: dict[str, Callable[[], Decoder]] = {
    "gzip": lambda: Zlib(is_gzip=True),
    "deflate": lambda: Zlib(is_gzip=False),
    "br": Brotli,
    "zstd": Zstd,
}
ACCEPT_ENCODING = ", ".join(CODINGS)
ERRORS = (zlib.error, brotli.error, zstd.ZstdError)


class Inflater:
    """Collects a body, decompressed, up to `limit` bytes: what every coding makes of it counts."""

    def __init__(self, encoding: str, limit: int) -> None:
        self._limit = limit
        self._stages = [(decoder, [0]) for decoder in decoders(encoding)]
        self._chunks: list[bytes] = []
        self._has_input = False
        self.size = 0  # how many bytes there are by now

    @property
    def codings(self) -> int:
        return len(self._stages)

    @property
    def is_plain(self) -> bool:
        return not self._stages

    def feed(self, chunk: bytes) -> bool:
        """False when the limit is passed."""
        self._has_input = self._has_input or bool(chunk)
        try:
            return self._pass(chunk, 0)
        except ERRORS as error:
            raise BrokenEncoding(f"the compressed response is broken: {error}") from error

    def _pass(self, data: bytes, stage: int) -> bool:
        if stage == len(self._stages):
            self.size += len(data)
            self._chunks.append(data)
            return self.size <= self._limit
        decoder, made = self._stages[stage]
        while (out := decoder.decode(data, PIECE)) or decoder.has_more:
            data = b""
            made[0] += len(out)
            if made[0] > self._limit + PIECE or not self._pass(out, stage + 1):
                return False
        return True

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """Instead of `feed`, for who keeps them elsewhere: nothing is collected, and only one coding is read."""
        self._has_input = self._has_input or bool(chunk)
        if not self._stages:
            yield chunk
            return
        decoder = self._stages[0][0]
        try:
            while (out := decoder.decode(chunk, PIECE)) or decoder.has_more:
                chunk = b""
                if out:
                    yield out
        except ERRORS as error:
            raise BrokenEncoding(f"the compressed response is broken: {error}") from error

    def finish(self) -> bytes:
        if self._has_input and not all(decoder.is_over for decoder, _ in self._stages):
            raise BrokenEncoding("the compressed response is incomplete")
        return b"".join(self._chunks)

    def partial(self) -> bytes:
        """What there is of a body that was not read to its end."""
        return b"".join(self._chunks)


def decoders(encoding: str) -> list[Decoder]:
    """In the order in which they are undone: the last coding that was put on comes off first."""
    named = [one for part in encoding.split(",") if (one := part.strip().lower().removeprefix("x-")) not in PLAIN]
    unknown = [one for one in named if one not in CODINGS]
    if unknown or len(named) > MAX_CODINGS:
        raise UnknownEncoding(", ".join(unknown or named))
    return [CODINGS[one]() for one in reversed(named)]
