"""Time and chance of a program: fixed by its seed and by the times of the answers, so that a replay sees the same."""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime, tzinfo
from typing import Any

_LONGEST_TIMER = 2**31 - 1
_MOST_ENTROPY = 1 << 20


class Clock:
    """`now_ms` is the time of the last answer."""

    def __init__(self, seed: bytes, now_ms: int) -> None:
        self.now_ms = self._began_ms = now_ms
        self._entropy = random.Random(b"entropy" + seed)  # noqa: S311 - the same numbers in a replay, not secrets

    def reading(self, name: str, args: tuple[Any, ...]) -> Any:
        """What a system call gives that asks for the time or for random bytes; None for any other."""
        now = datetime.fromtimestamp(self.now_ms / 1000, UTC)
        given = args[0] if args else None
        if name == "time.time":
            return self._seconds(str(given))
        if name == "datetime.now" and (given is None or isinstance(given, tzinfo)):
            return now.replace(tzinfo=None) if given is None else now.astimezone(given)
        if name == "date.today":
            return date(now.year, now.month, now.day)
        if name == "os.urandom" and isinstance(given, int) and 0 <= given <= _MOST_ENTROPY:
            return self._entropy.randbytes(given)
        return None

    def _seconds(self, caller: str) -> float:
        elapsed = caller.startswith(("time.monotonic", "time.perf_counter"))
        return (self.now_ms - (self._began_ms if elapsed else 0)) / 1000


def milliseconds(seconds: Any) -> int:
    """Of a sleep, as a timer takes them."""
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or math.isnan(seconds):
        return 0
    return min(_LONGEST_TIMER, math.ceil(seconds * 1000)) if seconds < _LONGEST_TIMER else _LONGEST_TIMER
