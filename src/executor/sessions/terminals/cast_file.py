"""What a terminal showed, in the format of asciinema (version 2): a line of JSON for each piece, with its time."""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from pathlib import Path

import orjson

logger = logging.getLogger(__name__)
MOST_BYTES = 64 * 1024 * 1024


class Recording:
    """Input is not recorded: it holds what people type blindly. Beyond the bound nothing more is."""

    def __init__(self, path: Path, columns: int, rows: int) -> None:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        self._path = path
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        self._began = time.monotonic()
        self._room = MOST_BYTES
        header = {"version": 2, "width": columns, "height": rows, "timestamp": int(time.time())}
        self._write({**header, "env": {"TERM": "xterm-256color"}})

    def show(self, text: str) -> None:
        self._add("o", text)

    def resize(self, columns: int, rows: int) -> None:
        self._add("r", f"{columns}x{rows}")

    def close(self) -> None:
        self._room = 0
        with suppress(OSError):
            self._file.close()

    def discard(self) -> None:
        """There is no terminal to record."""
        self.close()
        self._path.unlink(missing_ok=True)

    def _add(self, kind: str, text: str) -> None:
        self._write([round(time.monotonic() - self._began, 6), kind, text])

    def _write(self, value: object) -> None:
        if self._room <= 0:
            return
        line = orjson.dumps(value) + b"\n"
        self._room -= len(line)
        if self._room > 0:
            try:
                self._file.write(line)
            except OSError as error:
                logger.error("a recording of a terminal ends here: %s", error)
                self._room = 0
