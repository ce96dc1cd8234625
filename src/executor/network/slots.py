"""How many calls may be under way at once, shared between executions and actors.

A host that hangs, or an execution with a thousand calls, must not take the last connection: each execution and each
actor may hold only a part of what there is, and those who wait take turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Protocol

from executor.dataclass import dataclass
from executor.errors import SourceUnreachable
from executor.model.fairness import CURRENT, Counts, FairQueue, Party

QUEUE_SECONDS = 300.0
IDLE_HOSTS = 256

Waiter = tuple[Party, int, asyncio.Future[None]]


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
LARGEST_BODY, SMALL_BODY = 10_000_000, 64_000  # bytes; what is small is bounded by the number of connections
BODY_BYTES = Shares(64_000_000, 48_000_000, 24_000_000)


class Clock(Protocol):
    """A deadline that time spent in a queue does not count towards."""

    def pause(self) -> None: ...

    def go_on(self) -> None: ...


class Slots:
    """Those of one host, one command, or of everything together. A newcomer who may go never waits behind others.

    Where one may take several, `largest` is how many at most: so much must be free before anyone gets any.
    """

    def __init__(self, shares: Shares, largest: int = 1) -> None:
        self._shares = shares
        self._largest = largest
        self._held = 0
        self._actors: Counts[str] = Counts()
        self._executions: Counts[str] = Counts()
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

    def take(self, party: Party, amount: int = 1) -> bool:
        """Without waiting; False if that is not possible now."""
        if not (self._has_free and self._actor_may(party.actor_id) and self._may(party.execution_id)):
            return False
        self._held += amount
        self._actors.add(party.actor_id, amount)
        self._executions.add(party.execution_id, amount)
        return True

    async def acquire(self, party: Party, what: str, clock: Clock | None, seconds: float, amount: int = 1) -> None:
        if self.take(party, amount):
            return
        if clock is not None:
            clock.pause()
        await self._wait(party, what, seconds, amount)
        if clock is not None:
            clock.go_on()

    def release(self, party: Party, amount: int = 1) -> None:
        self._held -= amount
        self._actors.remove(party.actor_id, amount)
        self._executions.remove(party.execution_id, amount)
        if self._queue:
            self._serve()

    async def _wait(self, party: Party, what: str, seconds: float, amount: int) -> None:
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        waiter: Waiter = party, amount, turn
        self._queue.push(party, waiter)
        giving_up = loop.call_later(seconds, give_up, turn, what, seconds)
        try:
            await turn
        except BaseException:
            self._queue.discard(party, waiter)
            if not turn.cancelled() and turn.exception() is None:  # it came while the wait was cancelled
                self.release(party, amount)
            raise
        finally:
            giving_up.cancel()

    def _serve(self) -> None:
        while self._queue and self._has_free:
            waiter = self._queue.pop(actor_may=self._actor_may, execution_may=self._may)
            if waiter is None:
                return
            party, amount, turn = waiter
            if not turn.done() and self.take(party, amount):
                turn.set_result(None)

    @property
    def _has_free(self) -> bool:
        return self._held + self._largest <= self._shares.total

    def _actor_may(self, actor_id: str) -> bool:
        return self._actors[actor_id] + self._largest <= self._shares.actor

    def _may(self, execution_id: str) -> bool:
        return self._executions[execution_id] + self._largest <= self._shares.execution


class Holdings:
    """What a call holds until its result has been handed on."""

    def __init__(self) -> None:
        self._bytes: list[tuple[Party, int]] = []

    def __bool__(self) -> bool:
        return bool(self._bytes)

    def add(self, party: Party, amount: int) -> None:
        self._bytes.append((party, amount))

    def release(self) -> None:
        held, self._bytes = self._bytes, []
        for party, amount in held:
            BODIES.release(party, amount)


# Of the process: its memory is what is shared.
BODIES = Slots(BODY_BYTES, LARGEST_BODY)
HOLDINGS: ContextVar[Holdings | None] = ContextVar("executor_holdings", default=None)


class Reserve:
    """Room for one answer while it arrives: nothing for a small one, else for as much as it may become.

    It is left to the call that waits for the answer; without one, it lasts until `close`.
    """

    def __init__(self, where: str, clock: Clock | None = None) -> None:
        self._where, self._clock = where, clock
        self._party = CURRENT.get()
        self._held = 0

    async def fit(self, size: int, most: int) -> None:
        """Before so many bytes are kept in memory, of an answer that may have `most`."""
        if size > SMALL_BODY and not self._held:
            amount = min(most, LARGEST_BODY)
            what = f"{self._where}, whose answers are large,"
            await BODIES.acquire(self._party, what, self._clock, QUEUE_SECONDS, amount)
            self._held = amount

    def close(self, size: int = 0) -> None:
        """`size` is how many bytes there are in the end."""
        holdings, kept = HOLDINGS.get(), min(size, self._held)
        if holdings is None:
            kept = 0
        if self._held > kept:
            BODIES.release(self._party, self._held - kept)
        if holdings is not None and kept:
            holdings.add(self._party, kept)
        self._held = 0


class HostSlots:
    """Those of every host, and of all hosts together."""

    def __init__(self, host: Shares = HOST, everywhere: Shares = EVERYWHERE) -> None:
        self._host = host
        self._all = Slots(everywhere)
        self._hosts: dict[str, Slots] = {}

    def hold(self, origin: str, clock: Clock | None = None, seconds: float = QUEUE_SECONDS) -> HostSlot:
        return HostSlot(self, origin, clock, seconds)

    def take(self, party: Party, origin: str) -> bool:
        """Without waiting; False if that is not possible now."""
        slots = self._slots_of(origin)
        if not slots.take(party):
            return False
        if not self._all.take(party):
            slots.release(party)
            return False
        return True

    async def acquire(self, party: Party, origin: str, clock: Clock | None, seconds: float) -> None:
        """The host's first: a call that waits for a host that hangs holds nothing that others need."""
        slots = self._slots_of(origin)
        try:
            await slots.acquire(party, origin, clock, seconds)
            try:
                await self._all.acquire(party, "other hosts", clock, seconds)
            except BaseException:
                slots.release(party)
                raise
        except BaseException:
            self._forget(origin)
            raise

    def release(self, party: Party, origin: str) -> None:
        self._all.release(party)
        self._hosts[origin].release(party)
        self._forget(origin)

    def _slots_of(self, origin: str) -> Slots:
        slots = self._hosts.get(origin)
        if slots is None:
            slots = self._hosts[origin] = Slots(self._host)
        return slots

    def _forget(self, origin: str) -> None:
        """An idle host is kept while there are few: making its slots again would cost every call."""
        if len(self._hosts) > IDLE_HOSTS and origin in self._hosts and self._hosts[origin].is_idle:
            del self._hosts[origin]


class HostSlot:
    """A plain class: every request passes here, and a generator would cost several times as much."""

    __slots__ = ("_clock", "_origin", "_party", "_seconds", "_slots")

    def __init__(self, slots: HostSlots, origin: str, clock: Clock | None, seconds: float) -> None:
        self._slots, self._origin, self._clock, self._seconds = slots, origin, clock, seconds
        self._party = CURRENT.get()

    async def __aenter__(self) -> None:
        if self._slots.take(self._party, self._origin):
            return
        await self._slots.acquire(self._party, self._origin, self._clock, self._seconds)

    async def __aexit__(self, *_: object) -> None:
        self._slots.release(self._party, self._origin)


def give_up(turn: asyncio.Future[None], what: str, seconds: float) -> None:
    if not turn.done():
        turn.set_exception(busy(what, seconds))


def busy(what: str, seconds: float) -> SourceUnreachable:
    return SourceUnreachable(
        f"no connection became free within {seconds:g} seconds: too many calls to {what} are in progress",
        hint="nothing was sent; make fewer calls at a time, then try again",
        reason="busy",
        sent=False,
    )
