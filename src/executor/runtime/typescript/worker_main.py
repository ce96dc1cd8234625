"""The worker process: loads the image, seals itself, and serves its slots until its parent is gone.

Imports as little as it can: several of these wait idle, and each import is memory in every one of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from executor.runtime.typescript.machine import Machine
from executor.runtime.typescript.slot import Slot, settings
from executor.runtime.worker import frames, seal
from executor.runtime.worker.metered_slot import Ticker
from executor.runtime.worker.slot_server import OnHog, serve
from executor.runtime.worker.wasmtime_ffi import Engine, Module, WasmError

_STACK = 4 << 20  # of a slot's thread: four times what the engine may use


def warm_up(module: Module) -> None:
    """Runs once everything that a first program would load, while files can still be opened."""
    source = frames.Source(b"(async function(){return 1})", 0, callable=False)
    start = frames.Start(bytes(16), 0, 0, 0, 1, 1, 1, False, source)
    machine = Machine(module, 64 << 20)
    machine.boot(0, settings(start))
    machine.start(0, source.code)
    machine.close()


def main(image: str, control: int, descriptors: list[int]) -> None:
    seal.die_with_parent()
    try:
        module = Module.load(Engine(instances=len(descriptors)), Path(image))
        warm_up(module)
    except WasmError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(frames.UNUSABLE_IMAGE)

    def new_slot(descriptor: int, ticker: Ticker, on_hog: OnHog) -> Slot:
        return Slot(module, descriptor, ticker, on_hog)

    data_bytes = (1 << 30) + len(descriptors) * (128 << 20)
    serve(module.engine, new_slot, control, descriptors, stack_bytes=_STACK, data_bytes=data_bytes)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), [int(number) for number in sys.argv[3].split(",")])
