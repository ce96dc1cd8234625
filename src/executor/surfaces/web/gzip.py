"""Files of the UI as they travel: packed for browsers that ask for it, each once in the life of the daemon."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import PurePosixPath

from starlette.responses import Response

KINDS = (".css", ".js", ".json", ".svg")
SMALL = 1000  # bytes; below that there is nothing to win
MOST = 500  # files kept; several builds


def wants(accepted: bytes) -> bool:
    """Whether `Accept-Encoding` has gzip, and not as `gzip;q=0`."""
    for one in accepted.lower().split(b","):
        name, _, quality = one.partition(b";")
        if name.strip() == b"gzip":
            return quality.replace(b" ", b"") not in (b"q=0", b"q=0.0", b"q=0.00", b"q=0.000")
    return False


class Packing:
    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    async def pack(self, path: str, answer: Response, accepted: bytes) -> None:
        """The largest file takes about 30 ms: in a thread, and only the first time."""
        if PurePosixPath(path).suffix not in KINDS or answer.status_code != 200 or len(answer.body) < SMALL:
            return
        answer.headers["Vary"] = "Accept-Encoding"
        if not wants(accepted):
            return
        tag = answer.headers["ETag"]
        if tag not in self._kept:
            packed = await asyncio.to_thread(gzip.compress, bytes(answer.body), 9, mtime=0)
            if len(self._kept) >= MOST:
                self._kept.clear()
            self._kept[tag] = packed
        answer.body = self._kept[tag]
        answer.headers.update({"Content-Encoding": "gzip", "Content-Length": str(len(answer.body)), "ETag": f"W/{tag}"})
