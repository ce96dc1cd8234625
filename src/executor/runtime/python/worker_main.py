"""The worker process: seals itself, then keeps interpreters and serves its slots until its parent is gone.

An interpreter is a process of its own that inherits the seal. It may read and run nothing but the interpreter's
executable and the libraries that this process uses itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import cast

from pydantic_monty import Monty

from executor.runtime.python.program import Program
from executor.runtime.python.slot import Slot, Watch
from executor.runtime.worker import frames, seal
from executor.runtime.worker.frames import Source, Start

_STACK = 8 << 20
_DATA_BYTES = 12 << 30  # of each process; each program gets a narrower bound
_LIBRARIES = ("libgcc_s.so.1", "libpthread.so.0", "libm.so.6", "libdl.so.2", "librt.so.1", "libc.so.6")
_STARTING = frozenset({"execve", "vfork", "openat", "kill", "pidfd_send_signal", "socketpair"})


def loaded_libraries() -> list[str]:
    """The files that this process has mapped to run, its loader among them."""
    for name in _LIBRARIES:
        with contextlib.suppress(OSError):
            ctypes.CDLL(name)
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return sorted({line.split(maxsplit=5)[5] for line in maps.splitlines() if re.search(r" /\S.*\.so[.\d]*$", line)})


def preload() -> None:
    """What the bindings import when they first meet a value of that kind; and nothing that would measure them."""
    for name in ("dataclasses", "datetime", "decimal", "json", "numbers", "pathlib", "re", "tomllib", "uuid"):
        importlib.import_module(name)
    cast("dict[str, None]", sys.modules)["opentelemetry"] = None  # makes its import fail at once


def try_out(pool: Monty) -> None:
    """Runs what a first program would load. An interpreter that can't be started under the seal shows here."""
    start = Start(bytes(16), 0, 64 << 20, 10_000, 1, 1000, 1000, False, Source(b"1 + 1", 0, callable=False))
    program = Program(pool, start, lambda pid: None)
    output = program.begin()
    program.close()
    if output != b"v2\n":
        raise RuntimeError(f"the interpreter answers {output[:200]!r}")


def end_loudly(failed: threading.ExceptHookArgs) -> None:
    """A slot without its thread would never answer again: better no worker than half of one."""
    sys.__excepthook__(failed.exc_type, failed.exc_value or failed.exc_type(), failed.exc_traceback)
    os._exit(1)


def main(interpreter: str, control: int, descriptors: list[int]) -> None:
    seal.die_with_parent()
    preload()
    room = seal.Room((interpreter, "/etc/ld.so.cache", "/dev/null", *loaded_libraries()), _STARTING)
    layers = seal.apply(data_bytes=_DATA_BYTES, room=room)
    seal.die_with_parent()  # again: a new user namespace forgets it
    threading.stack_size(_STACK)
    threading.excepthook = end_loudly
    sys.setswitchinterval(0.001)  # long work on one slot must not make the others wait
    pool = Monty(binary_path=interpreter, min_processes=1, max_processes=len(descriptors))
    pool.__enter__()
    try_out(pool)

    def report_hog(index: int) -> Callable[[int], None]:
        return lambda number: frames.write_all(control, frames.encode_hog(index, number))

    watch = Watch()
    slots = watch.slots = [Slot(pool, end, report_hog(index), watch.rouse) for index, end in enumerate(descriptors)]
    for slot in slots:
        threading.Thread(target=slot.serve, daemon=True).start()
    frames.write_all(control, seal.greeting(layers))
    while (order := frames.read_exactly(control, frames.CONTROL_SIZE)) is not None:
        _, index, number = frames.decode_control(order)
        slots[index].abort(number)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), [int(number) for number in sys.argv[3].split(",")])
