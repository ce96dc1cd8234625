"""The signals that ask a process to stop."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def on_signal() -> asyncio.Event:
    """Set by the first signal. A second one ends the process at once: journals and supervisors of commands allow it."""
    import asyncio

    loop, stopping = asyncio.get_running_loop(), asyncio.Event()

    def stop() -> None:
        stopping.set()
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop)
    return stopping
