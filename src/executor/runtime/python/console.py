"""What the code prints, as lines of the log."""

from __future__ import annotations

from executor.runtime.python.json_writer import quote

_LOG, _WARN, _ERROR = 1, 3, 4
_LONGEST = 1 << 20  # of a line that has not ended yet


class Console:
    """`room` is what may still be logged, in characters. A line counts when it has ended."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._open = {"stdout": "", "stderr": ""}
        self._lines: list[str] = []
        self._full = False

    def write(self, stream: str, text: str) -> None:
        """Printed text, in pieces as the interpreter sends them."""
        if self._full:
            return
        *ended, self._open[stream] = (self._open[stream] + text).split("\n")
        for line in ended:
            self._line(stream, line)
        if len(self._open[stream]) > _LONGEST:
            self._line(stream, self._open[stream])
            self._open[stream] = ""

    def _line(self, stream: str, line: str) -> None:
        if self._full:
            return
        self._room -= len(line) + 8
        if self._room < 0:
            self._full = True
            self._lines.append(f"l{_WARN}" + quote("log limit reached: further lines are dropped") + "\n")
            return
        self._lines.append(f"l{_ERROR if stream == 'stderr' else _LOG}{quote(line)}\n")

    def take(self, *, ended: bool) -> bytes:
        if ended:
            for stream, rest in self._open.items():
                if rest:
                    self._line(stream, rest)
            self._open = {"stdout": "", "stderr": ""}
        taken, self._lines = "".join(self._lines), []
        return taken.encode("utf-8", "replace")
