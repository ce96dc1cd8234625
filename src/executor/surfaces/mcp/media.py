"""Images and sounds of a result: content blocks, which a client shows its model, instead of base64 in the text.

What a source says a file is counts for nothing until its bytes agree. A model's provider refuses a whole conversation
for one image that it can't read, so an image also has to be complete and of a bearable size.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from executor.surfaces.mcp.pictures import is_picture

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
        from executor.execution.keeping import files_in  # late: `executor mcp` writes answers too, and has no database

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
            return f"an answer has at most {MOST_BLOCKS}"
        if data is None or size > BLOCK_BYTES or self._bytes + size > ALL_BYTES:
            return f"{size} bytes are too many"
        return "" if is_genuine(kind, data) else f"its bytes are no readable {kind}"

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
