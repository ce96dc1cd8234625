"""A machine that is prepared while its worker has nothing to do; see docs/decisions/sandbox-threads.md.

A new machine shares the memory of the image. The system copies a page when it is first written, which takes a short
program longer than its own work. The pages that every program writes are therefore copied ahead.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Sequence
from ctypes import c_int, c_size_t, c_void_p

from executor.runtime.typescript.machine import Machine
from executor.runtime.worker.wasmtime_ffi import Module, WasmError

PAGE = 4096
MADV_POPULATE_WRITE = 23  # since Linux 5.14; elsewhere it is refused, and pages are copied as before
_GAP = 2  # pages between two written ones that are copied too: a call more costs as much
_LEAST_MEMORY = 4 << 20

_libc = ctypes.CDLL(None)
_libc.madvise.argtypes = [c_void_p, c_size_t, c_int]


class SpareMachine:
    """At most one. Any thread of the worker may take or prepare it. `written` are the ranges that programs write."""

    def __init__(self, module: Module, written: Sequence[tuple[int, int]] = ()) -> None:
        self._module, self._written = module, written
        self._spare: list[Machine] = []
        self._preparing = threading.Lock()

    def take(self, memory_bytes: int) -> Machine:
        try:
            machine = self._spare.pop()
        except IndexError:
            return Machine(self._module, memory_bytes)
        machine.limit(memory_bytes)
        return machine

    def prepare(self) -> None:
        """If that is impossible, so is the next program's machine, and that says why."""
        if self._spare or not self._preparing.acquire(blocking=False):
            return
        try:
            with contextlib.suppress(WasmError):
                machine = Machine(self._module, _LEAST_MEMORY)
                for begin, end in self._written:
                    _libc.madvise(machine.address + begin, end - begin, MADV_POPULATE_WRITE)
                self._spare.append(machine)
        finally:
            self._preparing.release()


def find_written(machine: Machine, work: Callable[[], object]) -> list[tuple[int, int]]:
    """The ranges of memory, in whole pages, that `work` changes."""
    before = machine.memory()
    work()
    after = machine.memory()
    written: list[tuple[int, int]] = []
    for page in range(0, len(before), PAGE):
        if before[page : page + PAGE] == after[page : page + PAGE]:
            continue
        begin = page
        if written and page - written[-1][1] <= _GAP * PAGE:
            begin = written.pop()[0]
        written.append((begin, page + PAGE))
    return written
