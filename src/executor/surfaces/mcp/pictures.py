"""Whether bytes are a picture: they begin and end like one, and say that it is no larger than a model can look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

LONGEST_SIDE: Final = 8_000  # pixels; providers refuse more
_MARKERS_WITH_SIZE = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})

Sides = tuple[int, int]


def is_picture(kind: str, data: bytes) -> bool:
    sides = _SIDES[kind](data)
    return sides is not None and all(0 < side <= LONGEST_SIDE for side in sides)


def _png(data: bytes) -> Sides | None:
    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR" or data[-8:-4] != b"IEND" or b"IDAT" not in data:
        return None
    return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])


def _gif(data: bytes) -> Sides | None:
    if data[:6] not in (b"GIF87a", b"GIF89a") or data[-1:] != b";":
        return None
    return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")


def _jpeg(data: bytes) -> Sides | None:
    if data[:3] != b"\xff\xd8\xff" or b"\xff\xd9" not in data[-64:]:
        return None
    for marker, at in _segments(data):
        if marker in _MARKERS_WITH_SIZE:
            return int.from_bytes(data[at + 5 : at + 7]), int.from_bytes(data[at + 3 : at + 5])
    return None


def _segments(data: bytes) -> Iterator[tuple[int, int]]:
    """The markers of a JPEG and where their lengths stand, up to the picture itself."""
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if marker == 0xDA:
            return
        yield marker, at + 2
        at += 2 + max(2, int.from_bytes(data[at + 2 : at + 4]))


def _webp(data: bytes) -> Sides | None:
    whole = int.from_bytes(data[4:8], "little") + 8
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP" or not whole <= len(data) <= whole + 1 or len(data) < 30:
        return None
    kind = data[12:16]
    if kind == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
    return None


_SIDES: dict[str, Callable[[bytes], Sides | None]] = {"png": _png, "gif": _gif, "jpeg": _jpeg, "webp": _webp}
