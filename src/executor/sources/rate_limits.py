"""Services that say "later": when that is, and reads that wait for it and are sent again.

A wait holds no connection, no thread and no sandbox. Writes never wait here: nothing but a read is sent twice.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from executor.model.fairness import Counts
from executor.model.tool import Tool
from executor.network.client import Answer

MAX_WAITS = 4
SPREAD = 0.25  # of the time that was asked for: those who wait together don't come back together
RETURNS = 50  # a second, of those who wait for the same origin
FARTHEST = 366 * 86_400.0
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{0,9})?\Z")
_RESET = re.compile(r"(?:^|[;,\s])(?:reset|t)\s*=\s*(\d{1,10})\b")
_waiting: Counts[str] = Counts()


def is_limited(status: int, headers: Mapping[str, str]) -> bool:
    """The service refused the request before doing anything, and would take it later."""
    if status == 429:
        return True
    if status == 503:
        return "Retry-After" in headers
    return status == 403 and ("Retry-After" in headers or headers.get("X-RateLimit-Remaining", "").strip() == "0")


def seconds_until_reset(headers: Mapping[str, str]) -> float | None:
    """When to try again, by the first header that says so in a way that makes sense."""
    for name, unit in (("Retry-After-Ms", 0.001), ("Retry-After", 1.0), ("X-RateLimit-Reset-After", 1.0)):
        if (found := delay(headers.get(name, ""), unit)) is not None:
            return found
    if match := _RESET.search(headers.get("RateLimit", "").lower()):
        return float(match[1])
    for name in ("RateLimit-Reset", "X-RateLimit-Reset", "X-Rate-Limit-Reset"):
        if (found := delay(headers.get(name, ""))) is not None:
            return found
    return None


def delay(text: str, unit: float = 1.0) -> float | None:
    """Of seconds from now, a time of day (HTTP) or a time since 1970, in seconds or milliseconds."""
    text = text.strip()[:60]
    if _NUMBER.match(text):
        number = float(text) * unit
        if number > 100_000_000_000:
            number /= 1000
        found = number - time.time() if number > 1_000_000_000 else number
    else:
        try:
            found = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, OverflowError, TypeError):
            return None
    return max(0.0, found) if found <= FARTHEST else None


@dataclass
class Retries:
    """What one call may still wait. `left` is how many seconds its execution has; `on_wait` records each wait."""

    seconds: float
    left: Callable[[], float]
    on_wait: Callable[[int, float, int], None]
    waits: int = field(default=0, init=False)

    async def wait(self, origin: str, status: int, wanted: float | None) -> bool:
        """False if it would take too long, or was tried often enough: nothing was waited for then."""
        most = min(self.seconds, self.left())
        backoff = 2.0**self.waits if wanted is None else (2.0 ** (self.waits - 1) if self.waits else 0.0)
        least = max(wanted or 0.0, backoff)
        if self.waits >= MAX_WAITS or least > most:
            return False
        _waiting.add(origin, 1)
        try:
            spread = max(0.5, least * SPREAD, _waiting[origin] / RETURNS)
            pause = min(most, least + random.uniform(0, spread))  # noqa: S311 - not used for secrets
            self.waits += 1
            self.seconds -= pause
            self.on_wait(status, pause, self.waits)
            await asyncio.sleep(pause)
        finally:
            _waiting.remove(origin, 1)
        return True


# Of the call that is being sent. Without one, nothing is sent again.
RETRIES: ContextVar[Retries | None] = ContextVar("executor_retries", default=None)


def says_later(answer: Answer) -> bool:
    return is_limited(answer.status, answer.headers)


async def send_when_allowed(
    tool: Tool, origin: str, send: Callable[[], Awaitable[Answer]], limited: Callable[[Answer], bool] = says_later
) -> Answer:
    """The answer to a read, sent again while the service says "later" and there is time; to a write the first one."""
    while True:
        answer = await send()
        retries = RETRIES.get()
        if retries is None or tool.effect != "read":
            return answer
        if not limited(answer):
            retries.waits = 0  # the next page is another request
            return answer
        if not await retries.wait(origin, answer.status, seconds_until_reset(answer.headers)):
            return answer
