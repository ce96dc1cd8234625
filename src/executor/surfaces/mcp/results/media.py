"""Images and sounds of a result: content blocks, which a client shows its model, instead of base64 in the text.

What a source says a file is counts for nothing until its bytes agree. A model's provider refuses a whole conversation
for one image that it can't read, so an image also has to be complete and of a bearable size.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

# Whether bytes are a picture: they begin and end like one, and say that it is no larger than a model can look at.
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


MOST_BLOCKS: Final = 5
BLOCK_BYTES: Final = 2_500_000
ALL_BYTES: Final = 4_000_000
MARKS: Final = ('"base64"', '"bytes"')  # a result with media has one of these
_SAME: Final = {
    "image/jpg": "image/jpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/mp3": "audio/mpeg",
    "audio/x-flac": "audio/flac",
}


class KeptFile(NamedTuple):
    """`data` is left out where there is too much of it."""

    id: str
    media_type: str
    size: int
    data: bytes | None


@dataclass(slots=True)
class Media:
    """The blocks of one answer. The oldest revision knows no sounds."""

    has_sounds: bool = True
    blocks: list[dict[str, str]] = field(default_factory=list)
    _bytes: int = 0

    def take(self, value: Any) -> None:
        """What can be shown of a value is put into blocks, and named where it was. The value itself is changed."""
        from executor.execution.artifacts.storage import (
            files_in,  # late: `executor mcp` writes answers too, and has no database
        )

        for file in files_in(value, least=1):
            if not self.refusal(file.media_type, len(file.data), file.data):
                kind = self._add(file.media_type, file.data)
                file.holder[file.key] = f"… ({len(file.data)} bytes of {kind}, shown below)"

    def take_kept(self, files: list[KeptFile]) -> str:
        """Those that are kept as artifacts; the text says which are shown, and why others are not."""
        shown, lines = [], []
        for file in files:
            if reason := self.refusal(file.media_type, file.size, file.data):
                lines.append(f"{file.id} is not shown: {reason}.")
            elif file.data is not None:
                self._add(file.media_type, file.data)
                shown.append(file.id)
        return "".join(f"\n{line}" for line in [*([f"Shown below: {', '.join(shown)}."] if shown else []), *lines])

    def refusal(self, media_type: str, size: int, data: bytes | None) -> str:
        """Why a file is not shown; nothing if it is."""
        kind = _SAME.get(media_type, media_type)
        if not is_showable(kind) or (kind.startswith("audio/") and not self.has_sounds):
            return f"your client can't show {kind}"
        if len(self.blocks) >= MOST_BLOCKS:
            return f"a result has at most {MOST_BLOCKS}"
        if data is None or size > BLOCK_BYTES or self._bytes + size > ALL_BYTES:
            return f"{size} bytes are too many"
        return "" if is_genuine(kind, data) else f"its bytes are not a readable {kind}"

    def _add(self, media_type: str, data: bytes) -> str:
        kind = _SAME.get(media_type, media_type)
        encoded = base64.b64encode(data).decode("ascii")
        self.blocks.append({"type": kind.partition("/")[0], "data": encoded, "mimeType": kind})
        self._bytes += len(data)
        return kind


def is_showable(media_type: str) -> bool:
    return _SAME.get(media_type, media_type) in _GENUINE


def is_genuine(media_type: str, data: bytes) -> bool:
    return _GENUINE[media_type](data)


def _is_wave(data: bytes) -> bool:
    return data[:4] == b"RIFF" and data[8:12] == b"WAVE" and b"data" in data[12:1024]


def _is_mp3(data: bytes) -> bool:
    frame = len(data) > 4 and data[0] == 0xFF and data[1] & 0xE6 == 0xE2 and data[2] & 0xF0 != 0xF0
    return frame or (data[:3] == b"ID3" and len(data) > 10)


_GENUINE: Final[dict[str, Callable[[bytes], bool]]] = {
    **{f"image/{name}": partial(is_picture, name) for name in ("png", "jpeg", "gif", "webp")},
    "audio/wav": _is_wave,
    "audio/mpeg": _is_mp3,
    "audio/ogg": lambda data: data[:5] == b"OggS\0" and len(data) > 27,
    "audio/flac": lambda data: data[:4] == b"fLaC" and len(data) > 42,
}
