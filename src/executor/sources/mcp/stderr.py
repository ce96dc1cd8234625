"""What a command says on its standard error: kept for people, bounded, never shown to code."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import IO

from executor.sources.mcp.allowance import READ_COST, Allowance

TAIL = 4_000
MAX_LOG = 1_000_000
CHUNK = 65_536


class Complaints:
    """The last words in memory, all of it (up to a limit) in a file that only the owner reads."""

    def __init__(self, log_file: Path | None) -> None:
        self._file = log_file
        self._tail = b""

    @property
    def last_words(self) -> str:
        """Fit for a message to an operator: at most five lines, no control characters."""
        lines = self._tail.decode("utf-8", "replace").splitlines()
        shown = ["".join(c if c.isprintable() else " " for c in line).strip()[:300] for line in lines]
        return " | ".join([line for line in shown if line][-5:])

    @property
    def log(self) -> Path | None:
        """Where it can be read, if anything was said."""
        return self._file if self._tail else None

    async def collect(self, stream: asyncio.StreamReader, allowance: Allowance) -> None:
        log = open_log(self._file) if self._file is not None else None
        room = MAX_LOG
        try:
            while part := await stream.read(CHUNK):
                self._tail = (self._tail + part)[-TAIL:]
                if log is not None and room > 0:
                    log.write(part[:room])
                    log.flush()
                    room -= len(part)
                await allowance.spend(len(part) + READ_COST)
        finally:
            if log is not None:
                log.close()


def open_log(path: Path) -> IO[bytes] | None:
    """The log of the run before stays beside it; a directory that can't be written costs only the log."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists():
            path.replace(path.with_suffix(".old.log"))
        path.touch(mode=0o600)
        return path.open("wb")
    except OSError:
        return None
