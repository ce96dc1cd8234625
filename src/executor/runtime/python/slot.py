"""A slot: one thread of a worker that runs one program at a time, each on a machine prepared ahead.

The program keeps its stack while it waits: inside `step` this thread sends the reply and reads the next frame.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable

from executor.runtime.python.component_ffi import Component, Linker
from executor.runtime.python.lines import Forged, Lines
from executor.runtime.python.machine import Machine
from executor.runtime.worker import frames
from executor.runtime.worker.frames import Fault, Reply, Start
from executor.runtime.worker.metered_slot import FIRST_TICKS, MeteredSlot, Ticker
from executor.runtime.worker.wasmtime_ffi import WasmError

_LEAST_MEMORY = 4 << 20
_TAMPERED = "the code tampered with what runs it"
# By what the engine shows of the stack, the first that is found.
_TRAPS = {
    "call stack exhausted": Fault(
        "code_error", "RecursionError: the code went too deep and ran out of stack", "recurse less deeply"
    ),
    "!pthread_cond_wait": Fault(
        "code_error",
        "RuntimeError: the code waits for a lock that nothing releases",
        "there are no threads here: no lock is needed; asyncio.Lock works between tasks",
    ),
    "!os_abort": Fault("code_error", "the code ended the interpreter by os.abort()", "end a program with sys.exit()"),
    "`wasi:cli/exit": Fault(
        "code_error", "the code ended the interpreter by os._exit()", "end a program with sys.exit()"
    ),
    "output-stream": Fault("code_error", "the code wrote to a file descriptor", "print() writes to the log"),
    "input-stream": Fault("code_error", "the code read from a file descriptor", "write its input into the code"),
    "!fatal_error": Fault("code_error", "the code broke the interpreter", "leave bytecode and frames as they are"),
    "unreachable": Fault(
        "memory_limit", "the interpreter gave up, most likely for want of memory", "keep less in memory"
    ),
}


class Left(Exception):
    """The parent has given the program up, or wants the next."""


class Slot(MeteredSlot):
    """`base` is what the image itself takes of memory; a program gets its limit on top."""

    hog_ns = 40_000_000

    def __init__(
        self, component: Component, linker: Linker, base: int, descriptor: int, ticker: Ticker,
        on_hog: Callable[[int], None] = lambda number: None,
    ) -> None:  # fmt: skip
        super().__init__(descriptor, ticker, on_hog)
        self._component, self._linker, self._base = component, linker, base
        self._ready: Machine | None = None
        self._replied_ns = 0
        self._next: bytes | None = None
        self._lines = Lines(0)
        self._most_output = self._most_logs = 0
        self._logs: list[bytes] = []  # that came ahead of their step
        self._logs_size = 0
        self._answers = 0

    def serve(self) -> None:
        while True:
            if self._ready is None:
                self._ready = Machine(self._component, self._linker, self._base)
            body = self._take()
            if body[0] == frames.START:
                self._program(frames.decode_start(body))
            else:
                kind = frames.CLOSED if body[0] == frames.CLOSE else frames.STEP
                self._send(Reply(kind, 0, None, b""))
            if self._nice and self._next is None:
                self._nice = False
                self._ticker.replace(self)
                return

    def _take(self) -> bytes:
        body, self._next = self._next or frames.read_frame(self._descriptor), None
        if body is None:
            os._exit(0)
        return body

    def _send(self, reply: Reply) -> None:
        frames.write_all(self._descriptor, frames.encode_reply(reply))

    def _program(self, start: Start) -> None:
        """Whatever goes wrong here ends this program and no other: a slot that stays silent would be lost."""
        machine, self._ready = self._ready, None
        self._number += 1
        self._used_ns = self._replied_ns = 0
        self._limit_ns, self._overdue, self._told = start.cpu_ms * 1_000_000, False, False
        self._most_output = frames.largest_output(start.calls, start.output_bytes, start.log_bytes)
        self._most_logs = frames.largest_output(0, 0, start.log_bytes)
        self._lines, self._answers = Lines(start.calls), 0
        self._logs, self._logs_size = [], 0
        try:
            if machine is not None:
                self._finish(*self._run(machine, start))
        except Left:
            pass
        except Exception as error:  # noqa: BLE001 - see above
            said = f"the sandbox failed: {type(error).__name__}: {error}"[:500]
            hint = "this is a fault of the sandbox, not of the code; please report it"
            self._finish(b"", Fault("sandbox_lost", said, hint))
        finally:
            if machine is not None:
                with contextlib.suppress(Exception):
                    machine.close()

    def _run(self, machine: Machine, start: Start) -> tuple[bytes, Fault | None]:
        machine.limit(self._base + max(start.memory_bytes, _LEAST_MEMORY))
        machine.watch(self._on_deadline)
        machine.begin(start.seed, start.clock_ms)
        machine.on_step = lambda output: self._step(machine, output)
        self._go_on(machine)
        try:
            output = machine.run(_message(start))
            self._check(output, last=True)
        except Forged:
            return b"", Fault("code_error", _TAMPERED)
        except (WasmError, MemoryError) as error:
            return b"", self._fault(error)
        finally:
            self._pause()
        return output, None

    def _step(self, machine: Machine, output: bytes) -> bytes:
        if output.startswith(b"p"):
            self._keep_logs(output[1:])
            return b""
        self._pause()
        self._check(output, last=False)
        if self._lines.proposals <= self._answers:
            raise Forged  # it would wait for ever
        self._send(Reply(frames.STEP, self._cpu_us(), None, self._with_logs(output)))
        body = self._take()
        if body[0] != frames.ANSWER:
            self._next = body
            raise Left
        clock_ms, seq, succeeded, text = frames.decode_answer(body)
        machine.clock_ms = clock_ms
        self._answers += 1
        self._go_on(machine)
        return b"%d %d %d\n" % (clock_ms, seq, succeeded) + text

    def _check(self, output: bytes, *, last: bool) -> None:
        if len(output) + self._logs_size > self._most_output:
            raise Forged
        self._lines.check(output, last=last)

    def _keep_logs(self, logs: bytes) -> None:
        self._lines.check_logs(logs)
        self._logs.append(logs)
        self._logs_size += len(logs)
        if self._logs_size > self._most_logs:
            raise Forged

    def _with_logs(self, output: bytes) -> bytes:
        """What came ahead of the step, and what came with it."""
        whole, self._logs, self._logs_size = b"".join([*self._logs, output]), [], 0
        return whole

    def _go_on(self, machine: Machine) -> None:
        self._began_ns = time.thread_time_ns()
        machine.deadline(FIRST_TICKS)
        self.running = True
        self._ticker.rouse()

    def _pause(self) -> None:
        if self.running:
            self.running = False
            self._used_ns += time.thread_time_ns() - self._began_ns

    def _cpu_us(self) -> int:
        spent, self._replied_ns = self._used_ns - self._replied_ns, self._used_ns
        return spent // 1000

    def _finish(self, output: bytes, fault: Fault | None) -> None:
        self._pause()
        self._send(Reply(frames.STEP, self._cpu_us(), fault, self._with_logs(output)))

    def _fault(self, error: Exception) -> Fault:
        said = str(error)
        if self._overdue:
            return self._cpu_limit()
        for sign, fault in _TRAPS.items():
            if sign in said:
                return fault
        if "unknown import" in said:
            what = said.partition("`")[2].partition("`")[0]
            hint = "there are no files, sockets and processes here: use tools.*"
            return Fault("code_error", f"the code asked the operating system for {what or 'something'}", hint)
        return Fault("code_error", f"the sandbox stopped the code: {said.splitlines()[-1] if said else ''}"[:500])


def _message(start: Start) -> bytes:
    head = f"{start.seed.hex()} {start.clock_ms} {start.calls} {start.output_bytes} {start.log_bytes}\n"
    return head.encode() + start.source.code
