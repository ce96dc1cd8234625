"""Memory, CPU time and open files of processes, as the system reports them."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from executor.telemetry.metric import Family, gauge

STARTED = time.time()
PROC = Path("/proc")


def families() -> list[Family]:
    """Under the names that Prometheus gives them in every language."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    found = [
        gauge("process.cpu", "s", "CPU time of the daemon", used.ru_utime + used.ru_stime, kind="counter"),
        gauge("process.resident_memory", "By", "Resident memory of the daemon", resident_bytes([os.getpid()])),
        gauge("process.start_time", "s", "Start of the daemon, in seconds since 1970", STARTED),
    ]
    with suppress(OSError):
        open_files = sum(1 for _ in (PROC / "self" / "fd").iterdir())
        found.append(gauge("process.open_fds", "", "Open files and connections", open_files))
    return found


def resident_bytes(pids: Iterable[int]) -> int:
    """Of processes that may end at any moment. Where there is no /proc, the most that this one ever had."""
    if sys.platform != "linux":
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    pages = 0
    for pid in pids:
        with suppress(OSError, ValueError, IndexError):
            pages += int((PROC / str(pid) / "statm").read_text().split()[1])
    return pages * resource.getpagesize()
