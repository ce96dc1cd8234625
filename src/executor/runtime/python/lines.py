"""Are the lines of a step in order? Code can reach the driver that writes them, so a worker looks before it sends.

What the lines say is read by the parent, which believes none of it. But a reply out of order makes the parent end the
whole worker, with the programs of others in it: that must not be for one program to bring about.
"""

from __future__ import annotations

_LONGEST_TIMER = 2**31 - 1
_LEVELS = b"01234"


class Forged(Exception):
    """Nothing that the driver writes."""


class Lines:
    """Of one program. Numbers of `proposals` go up by one, and no further than `calls`."""

    def __init__(self, calls: int) -> None:
        self._calls, self.proposals = calls, 0

    def check(self, output: bytes, *, last: bool) -> None:
        """`last`: the program has ended, and its last line says how."""
        lines = output.split(b"\n")
        if lines.pop() != b"":
            raise Forged
        end = lines.pop()[:1] if last and lines else b""
        if last and end not in (b"v", b"f"):
            raise Forged
        rest = iter(lines)
        for line in rest:
            kind = line[:1]
            if kind == b"c":
                self._number(line)
                if next(rest, None) is None:
                    raise Forged
            elif kind == b"t":
                if not 1 <= self._integer(self._number(line)) <= _LONGEST_TIMER:
                    raise Forged
            elif kind != b"l" or line[1:2] not in _LEVELS or line[1:2] == b"":
                raise Forged

    def check_logs(self, output: bytes) -> None:
        """Nothing but lines of the log."""
        if not output.startswith(b"l") or output.count(b"\n") != output.count(b"\nl") + 1:
            raise Forged
        self.check(output, last=False)

    def _number(self, line: bytes) -> bytes:
        head, _, tail = line.partition(b" ")
        self.proposals += 1
        if self._integer(head[1:]) != self.proposals or self.proposals > self._calls:
            raise Forged
        return tail

    def _integer(self, text: bytes) -> int:
        if not text.isdigit() or len(text) > 12:
            raise Forged
        return int(text)
