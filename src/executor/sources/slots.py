"""How many calls may be under way at once, shared between executions and actors.

A host that hangs, or an execution with a thousand calls, must not take the last connection: each execution and each
actor may hold only a part of what there is, and those who wait take turns.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from executor.errors import SourceUnreachable
from executor.model.fairness import CURRENT, FairQueue, Party

QUEUE_SECONDS = 300.0

Waiter = tuple[Party, asyncio.Future[None]]


@dataclass(frozen=True, slots=True)
class Shares:
    """How many there are in all, and how many of them one actor and one execution may hold."""

    total: int
    actor: int
    execution: int


EVERYWHERE = Shares(500, 250, 150)
HOST = Shares(100, 75, 50)
COMMAND = Shares(32, 24, 16)  # a command often answers one request at a time
THREADS = Shares(64, 48, 32)


class Clock(Protocol):
    """A deadline that time spent in a queue does not count towards."""

    def pause(self) -> None: ...

    def go_on(self) -> None: ...


class Slots:
    """Those of one host, one command, or of everything together. A newcomer who may go never waits behind others."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._held = 0
        self._actors: Counter[str] = Counter()
        self._executions: Counter[str] = Counter()
        self._queue: FairQueue[Waiter] = FairQueue()

    @property
    def is_idle(self) -> bool:
        return not self._held and not self._queue

    @asynccontextmanager
    async def hold(self, what: str, clock: Clock | None = None, seconds: float = QUEUE_SECONDS) -> AsyncIterator[None]:
        """Raises SourceUnreachable if no slot comes free in time. `what` is named in the message."""
        party = CURRENT.get()
        await self.acquire(party, what, clock, seconds)
        try:
            yield
        finally:
            self.release(party)

    async def acquire(
        self, party: Party, what: str, clock: Clock | None = None, seconds: float = QUEUE_SECONDS
    ) -> None:
        if self._held < self._shares.total and self._actor_may(party.actor_id) and self._may(party.execution_id):
            self._take(party)
            return
        if clock is not None:
            clock.pause()
        await self._wait(party, what, seconds)
        if clock is not None:
            clock.go_on()

    def release(self, party: Party) -> None:
        self._held -= 1
        for counter, key in ((self._actors, party.actor_id), (self._executions, party.execution_id)):
            counter[key] -= 1
            if not counter[key]:
                del counter[key]
        self._serve()

    async def _wait(self, party: Party, what: str, seconds: float) -> None:
        waiter: Waiter = party, asyncio.get_running_loop().create_future()
        self._queue.push(party, waiter)
        try:
            async with asyncio.timeout(seconds):
                await waiter[1]
        except BaseException as error:
            self._queue.discard(party, waiter)
            if waiter[1].done() and not waiter[1].cancelled():
                self.release(party)
            if isinstance(error, TimeoutError):
                raise busy(what, seconds) from error
            raise

    def _serve(self) -> None:
        while self._held < self._shares.total:
            waiter = self._queue.pop(actor_may=self._actor_may, execution_may=self._may)
            if waiter is None:
                return
            party, turn = waiter
            if not turn.done():
                self._take(party)
                turn.set_result(None)

    def _take(self, party: Party) -> None:
        self._held += 1
        self._actors[party.actor_id] += 1
        self._executions[party.execution_id] += 1

    def _actor_may(self, actor_id: str) -> bool:
        return self._actors[actor_id] < self._shares.actor

    def _may(self, execution_id: str) -> bool:
        return self._executions[execution_id] < self._shares.execution


class HostSlots:
    """Those of every host, and of all hosts together."""

    def __init__(self, host: Shares = HOST, everywhere: Shares = EVERYWHERE) -> None:
        self._host = host
        self._all = Slots(everywhere)
        self._hosts: dict[str, Slots] = {}

    @asynccontextmanager
    async def hold(
        self, origin: str, clock: Clock | None = None, seconds: float = QUEUE_SECONDS
    ) -> AsyncIterator[None]:
        """The host's first: whoever waits for a host that hangs holds nothing that others need."""
        slots = self._hosts.get(origin)
        if slots is None:
            slots = self._hosts[origin] = Slots(self._host)
        try:
            async with slots.hold(origin, clock, seconds), self._all.hold("other hosts", clock, seconds):
                yield
        finally:
            if slots.is_idle and self._hosts.get(origin) is slots:
                del self._hosts[origin]


def busy(what: str, seconds: float) -> SourceUnreachable:
    return SourceUnreachable(
        f"no connection came free within {seconds:g} seconds: too many calls to {what} are under way",
        hint="nothing was sent; make fewer calls at a time, then try again",
        reason="busy",
        sent=False,
    )
