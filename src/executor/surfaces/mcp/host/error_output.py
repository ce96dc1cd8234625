"""What a command says on its standard error, line by line, fit for a terminal and a log."""

from __future__ import annotations

from collections.abc import Callable

from executor.surfaces.escape import escape, shorten

MAX_LINE = 2_000


class ErrorOutput:
    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._rest = b""

    def hear(self, part: bytes) -> None:
        *lines, self._rest = (self._rest + part).split(b"\n")
        if len(self._rest) > MAX_LINE:
            lines, self._rest = [*lines, self._rest], b""
        for line in lines:
            if text := line.decode("utf-8", "replace").rstrip():
                self._report(shorten(escape(text.replace("\t", "    ")), MAX_LINE))
