"""What the code prints, logs and warns of, as lines of the log."""

from __future__ import annotations

import io
from collections.abc import Callable
from json.encoder import encode_basestring as quote

LOG, WARN, ERROR = 1, 3, 4
_MOST_KEPT = 64
_LONGEST = 1 << 20  # of a line that has not ended yet


class Console:
    """`room` is what may still be logged, in characters. A line counts when it has ended.

    `send` gets lines ahead of the step, so that they are there if the program is stopped: the first at once, then ever
    more at a time.
    """

    def __init__(self, room: int, send: Callable[[str], object]) -> None:
        self._room, self._send, self._batch = room, send, 1
        self._streams = (Stream(self, LOG), Stream(self, ERROR))
        self.stdout, self.stderr = self._streams
        self._lines: list[str] = []
        self._full = False

    def line(self, level: int, text: str) -> None:
        if self._full:
            return
        self._room -= len(text) + 8
        if self._room < 0:
            self._full = True
            level, text = WARN, "log limit reached: further lines are dropped"
        self._lines.append(f"l{level}{quote(text)}\n")
        if len(self._lines) >= self._batch:
            self._batch = min(self._batch * 2, _MOST_KEPT)
            self._send(self.take(ended=False))

    def take(self, *, ended: bool) -> str:
        if ended:
            for stream in self._streams:
                stream.end_line()
        taken, self._lines = "".join(self._lines), []
        return taken


class Stream(io.TextIOBase):
    """`sys.stdout` and `sys.stderr`."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, console: Console, level: int) -> None:
        self._console, self._level, self._open = console, level, ""

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        *ended, self._open = (self._open + text).split("\n")
        for line in ended:
            self._console.line(self._level, line)
        if len(self._open) > _LONGEST:
            self.end_line()
        return len(text)

    def end_line(self) -> None:
        if self._open:
            self._console.line(self._level, self._open)
            self._open = ""

    def writable(self) -> bool:
        return True

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def reconfigure(self, **_: object) -> None:
        pass

    @property
    def buffer(self) -> Bytes:
        return Bytes(self)


class Bytes(io.RawIOBase):
    """`sys.stdout.buffer`."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def write(self, data: object) -> int:
        content = bytes(data)  # type: ignore[call-overload]
        self._stream.write(content.decode("utf-8", "replace"))
        return len(content)

    def writable(self) -> bool:
        return True
