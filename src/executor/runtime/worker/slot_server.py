"""Serves the slots of a worker process until its parent is gone.

Imports as little as it can: several workers wait idle, and each import is memory in every one of them.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from executor.runtime.worker import frames, seal
from executor.runtime.worker.metered_slot import MeteredSlot, Ticker
from executor.runtime.worker.wasmtime_ffi import Engine

OnHog = Callable[[int], None]


class NewSlot(Protocol):
    def __call__(self, descriptor: int, ticker: Ticker, on_hog: OnHog, /) -> MeteredSlot: ...


def serve(
    engine: Engine, new_slot: NewSlot, control: int, descriptors: Sequence[int], *, stack_bytes: int, data_bytes: int
) -> None:
    """Seals the process first. `stack_bytes` is for the thread of each slot."""
    threading.stack_size(stack_bytes)
    threading.excepthook = end_loudly
    sys.setswitchinterval(0.001)  # long work on one slot must not make the others wait
    layers = seal.apply(data_bytes=data_bytes)
    seal.die_with_parent()  # again: a new user namespace forgets it
    ticker = Ticker(engine)

    def report_hog(index: int) -> OnHog:
        return lambda number: frames.write_all(control, frames.encode_hog(index, number))

    ticker.slots = [new_slot(end, ticker, report_hog(index)) for index, end in enumerate(descriptors)]
    for slot in ticker.slots:
        threading.Thread(target=slot.serve, daemon=True).start()
    frames.write_all(control, seal.greeting(layers))
    while (order := frames.read_exactly(control, frames.CONTROL_SIZE)) is not None:
        _, index, number = frames.decode_control(order)
        ticker.slots[index].aborted = number
    os._exit(0)


def end_loudly(failed: threading.ExceptHookArgs) -> None:
    """A slot without its thread would never answer again: better no worker than half of one."""
    sys.__excepthook__(failed.exc_type, failed.exc_value or failed.exc_type(), failed.exc_traceback)
    os._exit(1)
