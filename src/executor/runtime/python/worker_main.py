"""The worker process: loads the image, seals itself, and serves its slots until its parent is gone.

Imports as little as it can: several of these wait idle, and each import is memory in every one of them.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from executor.runtime.python.component_ffi import MAX_STACK, Component, Linker, new_engine
from executor.runtime.python.machine import Machine, link
from executor.runtime.python.slot import Slot
from executor.runtime.worker import frames, seal
from executor.runtime.worker.metered_slot import Ticker
from executor.runtime.worker.wasmtime_ffi import WasmError

_STACK = MAX_STACK + (2 << 20)  # of a slot's thread, of which only what is used is there
_GRAIN = 1 << 16
_MOST_BASE = 1 << 30


def base_memory(component: Component, linker: Linker) -> int:
    """What the image takes of memory before a program has run: the least limit under which it can be made."""
    low, high = 0, _MOST_BASE // _GRAIN
    while low < high:
        middle = (low + high) // 2
        try:
            Machine(component, linker, middle * _GRAIN).close()
            high = middle
        except WasmError:
            low = middle + 1
    return low * _GRAIN


def warm_up(component: Component, linker: Linker, base: int) -> None:
    """Runs once everything that a first program would load, while files can still be opened."""
    machine = Machine(component, linker, base + (64 << 20))
    output = machine.run(b"00 0 1 1000 1000\n1 + 1")
    machine.close()
    if output != b"v2\n":
        raise WasmError(f"the image answers {output[:200]!r}")


def end_loudly(failed: threading.ExceptHookArgs) -> None:
    """A slot without its thread would never answer again: better no worker than half of one."""
    sys.__excepthook__(failed.exc_type, failed.exc_value or failed.exc_type(), failed.exc_traceback)
    os._exit(1)


def main(image: str, control: int, descriptors: list[int]) -> None:
    seal.die_with_parent()
    try:
        component = Component.load(new_engine(), Path(image))
        linker = link(component)
        base = base_memory(component, linker)
        warm_up(component, linker, base)
    except WasmError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(frames.UNUSABLE_IMAGE)
    threading.stack_size(_STACK)
    threading.excepthook = end_loudly
    sys.setswitchinterval(0.001)  # long work on one slot must not make the others wait
    layers = seal.apply(data_bytes=(2 << 30) + len(descriptors) * (2 * base + _STACK + (256 << 20)))
    seal.die_with_parent()  # again: a new user namespace forgets it
    ticker = Ticker(component.engine)

    def report_hog(index: int) -> Callable[[int], None]:
        return lambda number: frames.write_all(control, frames.encode_hog(index, number))

    slots = [Slot(component, linker, base, end, ticker, report_hog(index)) for index, end in enumerate(descriptors)]
    ticker.slots = list(slots)
    for slot in slots:
        threading.Thread(target=slot.serve, daemon=True).start()
    frames.write_all(control, seal.greeting(layers))
    while (order := frames.read_exactly(control, frames.CONTROL_SIZE)) is not None:
        _, index, number = frames.decode_control(order)
        slots[index].aborted = number
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), [int(number) for number in sys.argv[3].split(",")])
