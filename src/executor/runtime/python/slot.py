"""A slot: one thread of a worker that drives one program at a time, and the watch over the CPU time of all of them."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

from pydantic_monty import Monty, MontyCrashedError

from executor.runtime.python.program import Program
from executor.runtime.worker import frames
from executor.runtime.worker.frames import Fault, Reply

LOST: Final = "sandbox_lost"
_LOOK_SECONDS = 0.02
_HOG_NS = 50_000_000  # of a program, over all its steps: reported to the parent, which may want the place
_SPARE_BYTES = 256 << 20
_HAS_CLOCKS = sys.platform == "linux"


class Meter:
    """CPU time of an interpreter's process and of the thread that drives it, from when the step began."""

    def __init__(self, thread_clock: int) -> None:
        self._thread_clock = thread_clock
        self._process_clock: int | None = None
        self._began = 0
        self.used_ns = 0

    def watch(self, pid: int) -> None:
        """A process's clock is read by number; the file system is closed to a sealed worker."""
        self._process_clock = (~pid << 3) | 2 if pid and _HAS_CLOCKS else None
        self._began = self._now()

    def limit_process(self, pid: int, limit_ns: int, memory_bytes: int) -> None:
        """The kernel's own bounds, wider than the interpreter's: they hold though this process may be gone."""
        if self._process_clock is not None:
            seconds = (time.clock_gettime_ns(self._process_clock) + limit_ns) // 1_000_000_000 + 2
            bounds = ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_DATA, 2 * memory_bytes + _SPARE_BYTES))
            for kind, soft in bounds:
                _, hard = resource.prlimit(pid, kind)
                resource.prlimit(pid, kind, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))

    def begin(self) -> None:
        self._began = self._now()

    def end(self) -> None:
        self.used_ns = self.spent_ns()

    def spent_ns(self) -> int:
        return self.used_ns + max(0, self._now() - self._began)

    def _now(self) -> int:
        if self._process_clock is None:
            return time.monotonic_ns()
        try:
            return time.clock_gettime_ns(self._process_clock) + time.clock_gettime_ns(self._thread_clock)
        except OSError:  # the process is gone
            return self._began


class Slot:
    """The parent sends one frame and gets one back, in order. Programs are numbered as they start."""

    def __init__(
        self, pool: Monty, descriptor: int, on_hog: Callable[[int], None], rouse: Callable[[], None] = lambda: None
    ) -> None:
        self._pool, self._descriptor, self._on_hog, self._rouse = pool, descriptor, on_hog, rouse
        self._lock = threading.Lock()
        self._program: Program | None = None
        self._meter = Meter(0)
        self._pid = self._number = self._aborted = self._limit_ns = self._memory_bytes = self._most_output = 0
        self._running = self._overdue = self._reported = False

    @property
    def is_running(self) -> bool:
        return self._running

    def serve(self) -> None:
        """Until the parent is gone."""
        while (body := frames.read_frame(self._descriptor)) is not None:
            frames.write_all(self._descriptor, self._frame(body))
        os._exit(0)

    def _frame(self, body: bytes) -> bytes:
        """Whatever goes wrong here ends this program and no other: a slot that stays silent would be lost."""
        try:
            return frames.encode_reply(self._reply(body))
        except Exception as error:  # noqa: BLE001 - see above
            self._drop()
            said = f"the sandbox failed: {type(error).__name__}: {error}"[:500]
            return frames.encode_reply(Reply(frames.STEP, 0, Fault(LOST, said), b""))

    def _reply(self, body: bytes) -> Reply:
        if body[0] == frames.CLOSE:
            self._drop()
            return Reply(frames.CLOSED, 0, None, b"")
        if body[0] == frames.START:
            self._drop()
        before, fault, output = self._meter.used_ns if self._program else 0, None, b""
        try:
            output = self._step(body)
        except MontyCrashedError as error:
            fault = self._cpu_limit() if self._overdue else Fault(LOST, f"the interpreter ended: {error}"[:500])
        except MemoryError:
            fault = Fault("output_limit", "the code returned or logged too much", "return and log only what is needed")
        if len(output) > self._most_output:
            fault, output = Fault("output_limit", "the code returned too much", "return less"), b""
        if fault is not None or (self._program is not None and self._program.has_ended):
            self._drop()
        return Reply(frames.STEP, max(0, self._meter.used_ns - before) // 1000, fault, output)

    def _step(self, body: bytes) -> bytes:
        self._meter = self._meter if body[0] != frames.START else Meter(_thread_clock())
        try:
            if body[0] == frames.START:
                start = frames.decode_start(body)
                self._number += 1
                self._limit_ns, self._overdue, self._reported = start.cpu_ms * 1_000_000, False, False
                self._memory_bytes = start.memory_bytes
                self._most_output = frames.largest_output(start.calls, start.output_bytes, start.log_bytes)
                self._program = Program(self._pool, start, self._on_session)
                return self._program.begin()
            if self._program is None:
                return b""
            self._meter.begin()
            self._run(True)
            return self._program.answer(frames.decode_answer(body))
        finally:
            self._run(False)
            self._meter.end()

    def _on_session(self, pid: int) -> None:
        self._pid = pid
        self._meter.watch(pid)
        self._meter.limit_process(pid, self._limit_ns, self._memory_bytes)
        self._run(True)

    def _run(self, running: bool) -> None:
        with self._lock:
            self._running = running
        if running:
            self._rouse()

    def look(self) -> None:
        """By the watch's thread. A program that has used its time up ends with its interpreter."""
        with self._lock:
            if not self._running:
                return
            spent, number = self._meter.spent_ns(), self._number
            if spent > self._limit_ns or self._aborted == number:
                self._overdue = True
                self._kill()
            is_hog, self._reported = spent > _HOG_NS and not self._reported, self._reported or spent > _HOG_NS
        if is_hog:
            self._on_hog(number)

    def abort(self, number: int) -> None:
        """The parent gave the program up. The order may come before the program itself, or late: then it hits none."""
        self._aborted = number
        self._rouse()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)

    def _cpu_limit(self) -> Fault:
        milliseconds = self._limit_ns // 1_000_000
        hint = "look for a loop that never ends, or do less in one execution"
        return Fault("cpu_limit", f"the code ran for more than {milliseconds} ms of CPU time", hint)

    def _drop(self) -> None:
        program, self._program = self._program, None
        if program is not None:
            with contextlib.suppress(Exception):  # of an interpreter that is gone
                program.close()


class Watch:
    """Looks at the slots while code runs anywhere in this process; sleeps when none has run for a while."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self._wake = threading.Event()
        threading.Thread(target=self._look, name="watch", daemon=True).start()

    def rouse(self) -> None:
        if not self._wake.is_set():
            self._wake.set()

    def _look(self) -> None:
        while True:
            self._wake.wait()
            time.sleep(_LOOK_SECONDS)
            running = [slot for slot in self.slots if slot.is_running]
            for slot in running:
                slot.look()
            if not running:
                self._wake.clear()
                if any(slot.is_running for slot in self.slots):
                    self._wake.set()


def _thread_clock() -> int:
    return time.pthread_getcpuclockid(threading.get_ident()) if _HAS_CLOCKS else 0
