"""The worker process: loads the image, seals itself, and serves its slots until its parent is gone.

Imports as little as it can: several of these wait idle, and each import is memory in every one of them.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from executor.runtime.typescript.machine import Machine
from executor.runtime.typescript.slot import Slot, settings
from executor.runtime.worker import frames, seal
from executor.runtime.worker.metered_slot import Ticker
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


def end_loudly(failed: threading.ExceptHookArgs) -> None:
    """A slot without its thread would never answer again: better no worker than half of one."""
    sys.__excepthook__(failed.exc_type, failed.exc_value or failed.exc_type(), failed.exc_traceback)
    os._exit(1)


def main(image: str, control: int, descriptors: list[int]) -> None:
    seal.die_with_parent()
    try:
        module = Module.load(Engine(), Path(image))
        warm_up(module)
    except WasmError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(frames.UNUSABLE_IMAGE)
    threading.stack_size(_STACK)
    threading.excepthook = end_loudly
    sys.setswitchinterval(0.001)  # long work on one slot must not make the others wait
    layers = seal.apply(data_bytes=(1 << 30) + len(descriptors) * (128 << 20))
    seal.die_with_parent()  # again: a new user namespace forgets it
    ticker = Ticker(module.engine)

    def report_hog(index: int) -> Callable[[int], None]:
        return lambda number: frames.write_all(control, frames.encode_hog(index, number))

    ticker.slots = [Slot(module, end, ticker, report_hog(index)) for index, end in enumerate(descriptors)]
    for slot in ticker.slots:
        threading.Thread(target=slot.serve, daemon=True).start()
    frames.write_all(control, seal.greeting(layers))
    while (order := frames.read_exactly(control, frames.CONTROL_SIZE)) is not None:
        _, index, number = frames.decode_control(order)
        ticker.slots[index].aborted = number
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), [int(number) for number in sys.argv[3].split(",")])
