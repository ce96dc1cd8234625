"""The worker process: loads the image, seals itself, and serves its slots until its parent is gone.

Imports as little as it can: several of these wait idle, and each import is memory in every one of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from executor.runtime.python.component_ffi import MAX_STACK, Component, Linker, new_engine
from executor.runtime.python.machine import Machine, link
from executor.runtime.python.slot import Slot
from executor.runtime.worker import frames, seal
from executor.runtime.worker.metered_slot import Ticker
from executor.runtime.worker.slot_server import OnHog, serve
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

    def new_slot(descriptor: int, ticker: Ticker, on_hog: OnHog) -> Slot:
        return Slot(component, linker, base, descriptor, ticker, on_hog)

    data_bytes = (2 << 30) + len(descriptors) * (2 * base + _STACK + (256 << 20))
    serve(component.engine, new_slot, control, descriptors, stack_bytes=_STACK, data_bytes=data_bytes)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), [int(number) for number in sys.argv[3].split(",")])
