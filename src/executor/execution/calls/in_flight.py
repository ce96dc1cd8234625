"""Calls on their way, and the answers that have come in."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Iterable
from typing import Any

from executor.errors import ToolError
from executor.model.execution import Call
from executor.model.ids import now_ms
from executor.network.slots import HOLDINGS, Holdings
from executor.sources.results import WARNINGS


class Sends:
    """`news` is set when an answer has arrived or someone outside wants the run's attention."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.arrived: deque[tuple[Call, str | ToolError]] = deque()
        self._under_way: dict[int, tuple[Call, asyncio.Task[None]]] = {}
        self._holdings: dict[int, Holdings] = {}
        self._warned: list[tuple[Call, str]] = []

    def __bool__(self) -> bool:
        return bool(self._under_way)

    def __contains__(self, seq: int) -> bool:
        """Under way, or answered and not yet taken."""
        return seq in self._under_way or any(call.seq == seq for call, _ in self.arrived)

    @property
    def seqs(self) -> set[int]:
        """Of what is under way."""
        return set(self._under_way)

    @property
    def has_calls(self) -> bool:
        """Of tools, under way or answered; timers restart automatically."""
        return any(call.kind == "tool" for call, _ in (*self._under_way.values(), *self.arrived))

    def launch(self, call: Call, work: Coroutine[Any, Any, str]) -> None:
        self._under_way[call.seq] = call, asyncio.create_task(self._answer(call, work))

    def arrive(self, call: Call, outcome: str | ToolError) -> None:
        self._under_way.pop(call.seq, None)
        self.arrived.append((call, outcome))
        self.news.set()

    def take_arrived(self) -> list[tuple[Call, str | ToolError]]:
        taken = list(self.arrived)
        self.arrived.clear()
        return taken

    def take_warnings(self) -> list[tuple[Call, str]]:
        """What the calls that have arrived had to say besides."""
        taken, self._warned = self._warned, []
        return taken

    def unanswered_writes(self) -> list[dict[str, Any]]:
        calls = [call for call, _ in self._under_way.values() if call.kind == "tool" and call.effect != "read"]
        return [{"seq": call.seq, "path": call.path} for call in calls]

    async def settle(self, seconds: float) -> None:
        """Wait, for a bounded time, until everything that was really sent has its answer; timers don't count."""
        sent = [task for call, task in self._under_way.values() if call.kind == "tool"]
        if sent:
            await asyncio.wait(sent, timeout=seconds)

    def cancel(self) -> None:
        for _, task in self._under_way.values():
            task.cancel()
        self._under_way.clear()
        self.release_all()

    def release_all(self) -> None:
        self.release(list(self._holdings))

    def release(self, delivered: Iterable[int]) -> None:
        """The code has these answers: their bytes are no longer in flight."""
        for seq in delivered if self._holdings else ():
            if holdings := self._holdings.pop(seq, None):
                holdings.release()

    async def _answer(self, call: Call, work: Coroutine[Any, Any, str]) -> None:
        holdings = Holdings()
        HOLDINGS.set(holdings)
        warnings: list[str] = []
        WARNINGS.set(warnings)
        try:
            outcome: str | ToolError = await work
        except ToolError as error:
            outcome = without_frames(error)
            holdings.release()
        except BaseException:
            holdings.release()
            raise
        if holdings:
            self._holdings[call.seq] = holdings
        self._warned += [(call, text) for text in warnings]
        self.arrive(call, outcome)


def without_frames(error: ToolError) -> ToolError:
    """Its traceback would keep what was read, perhaps megabytes, until the next garbage collection."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


async def sleep(started_ms: int, wanted_ms: float) -> str:
    """What is left of it, also after a restart. A clock that was set back in between does not make it longer."""
    passed = max(0, now_ms() - started_ms)
    await asyncio.sleep(max(0.0, (wanted_ms - passed) / 1000))
    return "null"
