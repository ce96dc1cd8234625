"""A slot whose CPU time is metered: a thread of a worker that runs WebAssembly, stopped by the engine's clock."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any

from executor.runtime.worker.frames import Fault
from executor.runtime.worker.wasmtime_ffi import CONTINUE, DeadlineCallback, Engine, lib

TICK_SECONDS = 0.01
# The clock's ticks between two looks at the CPU time: of a new program, of a hog, and of one that was slowed down.
# A look takes Python's lock, which a slow thread gives back slowly.
FIRST_TICKS, _HOG_TICKS, _NICE_TICKS = 1, 2, 10
_NICE_NS = 40_000_000  # what is still there is slowed down, and would then be slow to stop
_NICE = 10


class Ticker:
    """Advances the engine's clock while code runs anywhere in this process. Sleeps when none has run for a second."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.slots: list[MeteredSlot] = []
        self._retired: deque[MeteredSlot] = deque()
        self._asleep = threading.Event()
        self._wake = threading.Event()
        threading.Thread(target=self._tick, name="ticker", daemon=True).start()

    def rouse(self) -> None:
        if self._asleep.is_set():
            self._wake.set()

    def replace(self, slot: MeteredSlot) -> None:
        """Gives the slot a new thread, started here: a thread inherits the niceness of the one that starts it."""
        self._retired.append(slot)
        self.rouse()

    def _start_retired(self) -> None:
        while self._retired:
            threading.Thread(target=self._retired.popleft().serve, daemon=True).start()

    @property
    def is_busy(self) -> bool:
        return any(slot.running for slot in self.slots)

    def _tick(self) -> None:
        idle = 0
        while True:
            time.sleep(TICK_SECONDS)
            self._engine.tick()
            self._start_retired()
            idle = 0 if self.is_busy else idle + 1
            if idle * TICK_SECONDS > 1:
                self._asleep.set()
                if not self.is_busy and not self._retired:
                    self._wake.wait()
                self._wake.clear()
                self._asleep.clear()
                idle = 0


class MeteredSlot(ABC):
    """Programs are numbered as they start.

    `aborted`, set by another thread at any time, is the number of the one that the parent gave up: an order that comes
    late must not hit the next. `hog_ns` is what a program may use, over all its steps, before the parent hears of it
    and may want the place. `grace_ns` is how long code has, once its CPU time is up, to stop in order.
    """

    hog_ns = 8_000_000
    grace_ns = 0

    def __init__(self, descriptor: int, ticker: Ticker, on_hog: Callable[[int], None] = lambda number: None) -> None:
        self._descriptor, self._ticker, self._on_hog = descriptor, ticker, on_hog
        self.running = False
        self.aborted = self._number = 0
        self._used_ns = self._began_ns = self._limit_ns = 0
        self._overdue = self._told = self._nice = False
        self._on_deadline = DeadlineCallback(self._look)

    @abstractmethod
    def serve(self) -> None:
        """Until the parent is gone, or until this thread was slowed down and another must take its place."""

    def _ask_to_stop(self) -> None:  # noqa: B027 - not every engine can be asked
        """The CPU time is up."""

    def _look(self, _context: int, _data: int, delta: Any, kind: Any) -> int:
        """Called by the engine, on this thread, every few ticks while code runs."""
        spent = self._used_ns + time.thread_time_ns() - self._began_ns
        if self.aborted == self._number or spent > self._limit_ns + self.grace_ns:
            self._overdue = True
            error: int = lib.wasmtime_error_new(b"stopped")
            return error
        if spent > self._limit_ns and not self._overdue:
            self._overdue = True
            self._ask_to_stop()
        if spent > self.hog_ns and not self._told:
            self._told = True
            self._on_hog(self._number)
        if spent > _NICE_NS and not self._nice:
            self._be_nice()
        delta[0] = _NICE_TICKS if self._nice else _HOG_TICKS if self._told else FIRST_TICKS
        kind[0] = CONTINUE
        return 0

    def _be_nice(self) -> None:
        """Others come first from here on. There is no way back without privileges, so a new thread serves the next."""
        self._nice = True
        with contextlib.suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)

    def _cpu_limit(self) -> Fault:
        return Fault(
            "cpu_limit",
            f"the code ran for more than {self._limit_ns / 1e9:g} s of CPU time",
            "look for a loop that never ends, or do less in one execution",
        )
