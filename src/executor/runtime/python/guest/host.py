"""The one way out: proposals and log lines are collected here, handed over when the code waits, and answered."""

from __future__ import annotations

import json
import math
from collections import deque
from json.encoder import encode_basestring as quote
from typing import Any, NamedTuple

import wit_world
from console import Console

_LONGEST_TIMER = 2**31 - 1


class Ended(BaseException):
    """The program is over though its code is not: no `except Exception` of the code catches it."""


class Answer(NamedTuple):
    seq: int
    succeeded: bool
    text: str


class Host:
    """`end` is the last line, once it is known."""

    def __init__(self, clock_ms: int, calls: int, output_bytes: int, log_bytes: int) -> None:
        self.now_ms = self.began_ms = clock_ms
        self.calls, self.output_bytes = calls, output_bytes
        self.console = Console(log_bytes, lambda lines: wit_world.step("p" + _whole(lines)))
        self.room = output_bytes
        self.end: str | None = None
        self.seq = self.answered = 0
        self._lines: list[str] = []
        self._held: deque[Answer] = deque()

    @property
    def is_idle(self) -> bool:
        """No proposal is open, and no answer is left."""
        return self.seq == self.answered and not self._held

    def propose_call(self, path: str, arguments: str) -> int:
        seq = self._next()
        self.room -= len(arguments)
        self._lines.append(f"c{seq} {quote(path)}\n{arguments}\n")
        return seq

    def propose_timer(self, milliseconds: int) -> int:
        seq = self._next()
        self._lines.append(f"t{seq} {min(max(milliseconds, 1), _LONGEST_TIMER)}\n")
        return seq

    def _next(self) -> int:
        if self.seq >= self.calls:
            self.end = self.end or failure_line(
                "call_limit",
                f"the code made more than {self.calls} calls",
                "make fewer calls, or raise the limit on calls of this execution",
            )
            raise Ended
        self.seq += 1
        return self.seq

    def wait(self) -> Answer:
        """The next answer, in the order in which they come."""
        return self._held.popleft() if self._held else self._exchange()

    def sleep(self, seconds: float) -> None:
        """Blocks: what else is answered meanwhile is delivered later."""
        delay = milliseconds(seconds)
        if delay < 1:
            return
        seq = self.propose_timer(delay)
        while (answer := self._exchange()).seq != seq:
            self._held.append(answer)

    def _exchange(self) -> Answer:
        head, _, text = wit_world.step(self.flush()).partition("\n")
        clock_ms, seq, succeeded = head.split(" ")
        self.now_ms = int(clock_ms)
        self.answered += 1
        return Answer(int(seq), succeeded == "1", text)

    def flush(self, *, last: str = "") -> str:
        lines, self._lines, self.room = self._lines, [], self.output_bytes
        return _whole("".join(lines) + self.console.take(ended=last != "") + last)


def _whole(text: str) -> str:
    """Halves of characters, which Python's text may hold, can't be written: each is replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def milliseconds(seconds: Any) -> int:
    """Of a sleep, as a timer takes them."""
    seconds = float(seconds)
    if math.isnan(seconds):
        raise ValueError("Invalid value NaN (not a number)")
    return min(_LONGEST_TIMER, math.ceil(round(seconds * 1000, 6))) if seconds < _LONGEST_TIMER else _LONGEST_TIMER


def failure_line(code: str, message: str, hint: str = "", details: dict[str, Any] | None = None) -> str:
    failure = {"code": code, "message": message, "hint": hint, "details": details or {}}
    return "f" + json.dumps(failure, ensure_ascii=False) + "\n"
