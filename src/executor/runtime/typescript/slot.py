"""A slot: one thread of a worker that runs one program at a time, step by step, on a machine of its own."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable

from executor.runtime.typescript.machine import Machine, OutOfMemory, Trap, WasmError
from executor.runtime.worker import frames
from executor.runtime.worker.frames import Answered, Fault, Reply, Start
from executor.runtime.worker.metered_slot import FIRST_TICKS, MeteredSlot, Ticker
from executor.runtime.worker.wasmtime_ffi import Module

_GRACE_NS = 250_000_000  # after its CPU time is up, code has this long to stop in order, with its logs
_LEAST_MEMORY = 4 << 20
_RESERVE = 4 << 20
_NO_JAVASCRIPT = b'f{"code":"syntax_error"'


class Slot(MeteredSlot):
    """The parent sends one frame and gets one back, in order."""

    grace_ns = _GRACE_NS

    def __init__(
        self, module: Module, descriptor: int, ticker: Ticker, on_hog: Callable[[int], None] = lambda number: None
    ) -> None:
        super().__init__(descriptor, ticker, on_hog)
        self._module = module
        self._machine: Machine | None = None
        self._memory_bytes = self._most_output = 0
        self._has_ended = False  # its program
        self._failed = False

    def serve(self) -> None:
        """Until the parent is gone, or until this thread was slowed down or failed and another must take its place."""
        while (body := frames.read_frame(self._descriptor)) is not None:
            frames.write_all(self._descriptor, self._frame(body))
            if self._has_ended:
                self._tidy()
            if self._machine is None and (self._nice or self._failed):
                self._nice = self._failed = False
                self._ticker.replace(self)
                return
        os._exit(0)

    def _tidy(self) -> None:
        """After the reply, for which the parent waits: the next program finds the memory as new."""
        self._has_ended = False
        os.sched_yield()
        self._drop()

    def _frame(self, body: bytes) -> bytes:
        """Whatever goes wrong here ends this program and no other: a slot that stays silent would be lost."""
        try:
            return frames.encode_reply(self._reply(body))
        except Exception as error:  # noqa: BLE001 - see above
            self._failed = True
            with contextlib.suppress(Exception):
                self._drop()
            self._machine = None
            said = f"the sandbox failed: {type(error).__name__}: {error}"[:500]
            fault = Fault("sandbox_lost", said, "this is a fault of the sandbox, not of the code; please report it")
            return frames.encode_reply(Reply(frames.STEP, 0, fault, b""))

    def _reply(self, body: bytes) -> Reply:
        if body[0] == frames.CLOSE:
            self._drop()
            return Reply(frames.CLOSED, 0, None, b"")
        before = 0 if body[0] == frames.START else self._used_ns
        fault: Fault | None = None
        try:
            output = self._work(body)
        except (Trap, WasmError, OutOfMemory, MemoryError) as error:
            fault, output = self._fault(error), b""
        if output is None:
            self._has_ended = True  # this attempt: its machine is dropped while the types are removed
            return Reply(frames.TYPED, self._used_ns // 1000, None, b"")
        if len(output) > self._most_output:
            fault, output = fault or _too_much(), b""
        if fault is None and self._overdue and not _has_ended_by_itself(output):
            fault = self._cpu_limit()
        if fault is None and self._is_starved(output):
            fault = self._fault(OutOfMemory())
        self._has_ended = fault is not None or bool(_end_of(output))
        return Reply(frames.STEP, (self._used_ns - before) // 1000, fault, output)

    def _work(self, body: bytes) -> bytes | None:
        if body[0] == frames.START:
            return self._start(frames.decode_start(body))
        if body[0] == frames.RUN:
            return self._launch(frames.decode_start(body))
        return b"" if self._machine is None else self._answer(self._machine, frames.decode_answer(body))

    def _start(self, start: Start) -> bytes | None:
        """None if this was an attempt and the code is no JavaScript."""
        self._drop()
        self._number += 1
        self._used_ns, self._limit_ns, self._overdue = 0, start.cpu_ms * 1_000_000, False
        self._told = False
        self._most_output = frames.largest_output(start.calls, start.output_bytes, start.log_bytes)
        output = self._launch(start)
        if start.attempt and output.startswith(_NO_JAVASCRIPT):
            self._drop()
            return None
        return output

    def _launch(self, start: Start) -> bytes:
        self._began_ns = time.thread_time_ns()
        try:
            self._memory_bytes = max(start.memory_bytes, _LEAST_MEMORY)
            machine = self._machine = Machine(self._module, self._memory_bytes)
            machine.watch(self._on_deadline)
            machine.prepare_interrupt()
            return self._run(machine, lambda: self._begin(machine, start))
        finally:
            self._used_ns += time.thread_time_ns() - self._began_ns

    def _begin(self, machine: Machine, start: Start) -> bytes:
        machine.boot(start.clock_ms, settings(start))
        return machine.start(start.clock_ms, start.source.code)

    def _answer(self, machine: Machine, answered: Answered) -> bytes:
        self._began_ns = time.thread_time_ns()
        try:
            clock_ms, seq, succeeded, text = answered
            return self._run(machine, lambda: machine.answer(clock_ms, seq, succeeded, text))
        finally:
            self._used_ns += time.thread_time_ns() - self._began_ns

    def _run(self, machine: Machine, work: Callable[[], bytes]) -> bytes:
        machine.deadline(FIRST_TICKS)
        self.running = True
        self._ticker.rouse()
        try:
            output = work()
        finally:
            self.running = False
        return output

    def _ask_to_stop(self) -> None:
        if self._machine is not None:
            self._machine.interrupt()

    def _fault(self, error: Exception) -> Fault:
        if self._overdue:
            return self._cpu_limit()
        if isinstance(error, Trap) and error.stack:
            return Fault(
                "code_error", "RangeError: the code recursed too deeply and ran out of stack", "recurse less deeply"
            )
        if isinstance(error, Trap):
            return Fault("code_error", f"the sandbox stopped the code: {error}", "")
        return Fault("memory_limit", "the code exceeded its memory limit", "keep less in memory at once")

    def _is_starved(self, output: bytes) -> bool:
        """Without room for an error object the engine throws null."""
        thrown = output.rfind(b'f{"code":"code_error","message":"null"')
        return thrown >= 0 and self._machine is not None and self._machine.size + _RESERVE > self._memory_bytes

    def _drop(self) -> None:
        if self._machine is not None:
            self._machine.close()
            self._machine = None


def settings(start: Start) -> bytes:
    source = start.source
    seed = ",".join(str(int.from_bytes(start.seed[at : at + 4], "little")) for at in range(0, 16, 4))
    callable_ = "true" if source.callable else "false"
    return (
        f'{{"seed":[{seed}],"calls":{start.calls},"output":{start.output_bytes},"logs":{start.log_bytes},'
        f'"offset":{source.offset},"callable":{callable_},'
        f'"end":[{source.end[0]},{source.end[1]}],"stray":[{source.stray[0]},{source.stray[1]}],'
        f'"inserted":[{source.inserted[0]},{source.inserted[1]}]}}'
    ).encode()


def _too_much() -> Fault:
    return Fault("output_limit", "the code returned or logged too much", "return and log only what is needed")


def _end_of(output: bytes) -> bytes:
    """The last line, if it says that the program has ended: `v` a value, `f` a failure. No other begins so."""
    last = output.rfind(b"\n", 0, len(output) - 1) + 1
    return output[last:] if output[last : last + 1] in (b"v", b"f") else b""


def _has_ended_by_itself(output: bytes) -> bool:
    """Being interrupted looks like an error or a deadlock from inside; a value or a limit was there before."""
    end = _end_of(output)
    return end != b"" and not end.startswith(b'f{"code":"code_error"')
